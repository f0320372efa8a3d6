"""The same actions over MCP (Streamable HTTP), for agents that speak it.

`transport` lets requests in, `protocol` has the official SDK answer them, `tools` says what there is to call,
`actions` does it, `words` says in short what came of it.
"""

from coordination.mcp.protocol import NotStarted, sessions
from coordination.mcp.transport import PATHS, application

__all__ = ["PATHS", "NotStarted", "application", "sessions"]
