"""Who is asking: DIDs, signed requests (RFC 9421), API keys; a request in, a Principal out."""
