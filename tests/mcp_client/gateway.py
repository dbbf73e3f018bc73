"""Program with the tools of several servers, as Docker's gateway has them."""

from mcp.server import MCPServer

NAMES = ("brave_web_search", "brave_local_search", "fetch", "maps_geocode", "create_issue", "add_issue_comment")

if __name__ == "__main__":
    server: MCPServer[object] = MCPServer("gateway", log_level="CRITICAL")
    for name in NAMES:
        server.tool(name=name)(lambda: "done")
    server.run("stdio")
