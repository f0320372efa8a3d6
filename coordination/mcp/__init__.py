"""The same actions over MCP (Streamable HTTP).

`transport` admits requests, `json_rpc` reads their message and `protocol` has the official SDK answer it.
`tools` lists the tools, `schemas` has their shapes, `actions` runs them, `summaries` puts results into short
texts.
"""

from coordination.mcp.protocol import NotStarted, sessions
from coordination.mcp.transport import PATHS, application

__all__ = ["PATHS", "NotStarted", "application", "sessions"]
