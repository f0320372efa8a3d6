"""The short ASGI path for the JSON API."""


async def application(scope, receive, send):
    """Answer 503: the API is not mounted."""
    await send({"type": "http.response.start", "status": 503, "headers": []})
    await send({"type": "http.response.body", "body": b""})
