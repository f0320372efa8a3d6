"""What readers paste: curl commands, and the entry of this service in an MCP client's configuration."""

import shlex
from collections.abc import Mapping
from typing import Any

from django.conf import settings

KEY = "$INTRAMEDIAL_KEY"
"""The variable of the shell that holds the API key of a workspace."""


def curl(
    address: str, *, body: str | None = None, query: Mapping[str, str] | None = None, method: str = ""
) -> str:
    """A request as a command for a POSIX shell, with the key in `KEY`.

    With `body`, JSON, it is a POST; with `query`, a request of `method` with these parameters. With neither,
    it is a GET on one line.
    """
    request = ["curl -sS"]
    if query is not None:
        request.append(f"-G -X {method}")
    parts = [" ".join([*request, shlex.quote(address)]), f'-H "Authorization: Bearer {KEY}"']
    if body is not None:
        parts += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(body)}"]
    for name, value in (query or {}).items():
        parts.append(f"--data-urlencode {shlex.quote(f'{name}={value}')}")
    one_line = body is None and query is None
    return (" " if one_line else " \\\n  ").join(parts)


def mcp_address() -> str:
    """The address for MCP clients. Its tools have names without dots, which every model provider accepts."""
    return f"{settings.BASE_URL}/mcp/compat"


def mcp_server(key: str, address: str = "url") -> dict[str, Any]:
    """The server's entry in a client's configuration: the address, under the name that the client reads, and
    the header with `key`."""
    return {address: mcp_address(), "headers": {"Authorization": f"Bearer {key}"}}
