"""What this service's server and its applications agree on beyond ASGI.

The server is `intramedial.server`. Behind any other server an application finds no `WHOLE` among the scope's
extensions and answers with ordinary messages.
"""

WHOLE = "intramedial.whole"
"""An ASGI extension and its message: `{"type": WHOLE, "status", "head", "body"}` is a whole answer. `head` is
fields as they are written, each with its CRLF, `content-length` among them and `connection` not."""

KNOWN = "intramedial.known"
"""The application sets this key of the scope when the caller's credentials were valid. The listener closes
such a connection last when there are too many."""
