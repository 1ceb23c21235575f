"""The memory as a server of the Model Context Protocol (MCP), for any client that speaks it.

It needs the extra ``mcp``. ``acc mcp`` starts it; docs/mcp.md says how to set it up.
"""
