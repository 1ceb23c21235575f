"""The memory as a server of the Model Context Protocol (MCP), for any client that speaks it.

It needs the extra ``mcp``. ``acc mcp`` starts it; docs/mcp.md says how to set it up.

    serving.py      what the deployer decides: whose memory, which channel, what is allowed
    answers.py      what each tool and resource answers, as text
    forgetting.py   the tool that erases: first the plan, then the erasure
    turns.py        which calls may run at the same time
    server.py       the tools and resources of the server, on the SDK
    transports.py   stdio and streamable HTTP
"""

from acc.mcp_server.server import memory_server
from acc.mcp_server.serving import Serving

__all__ = ["Serving", "memory_server"]
