"""A small MCP server built with the second major of the official Python SDK.

It is an independent opinion on the gateway: nothing in here knows of it. It speaks both protocols, the sessions before
2026-07-28 and the requests that stand for themselves since then; the client's first message decides.

    server.py stdio
    server.py http     on a free port of this machine; the first line of standard output is the address
"""

import socket
import sys
from typing import Annotated

import uvicorn
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

server = MCPServer("python-peer", version="1.0.0", log_level="WARNING")


def main() -> int:
    match sys.argv[1:]:
        case ["stdio"]:
            server.run("stdio")
        case ["http"]:
            serve_http()
        case _:
            print("server.py: say whether to serve stdio or http", file=sys.stderr)
            return 2
    return 0


def serve_http() -> None:
    # Bound before it is announced, so that nobody comes too early.
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning")).run([listener])


class Name(BaseModel):
    name: str


def ask() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


@server.tool(annotations=READS, structured_output=False)
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return str(a + b)


@server.tool(annotations=READS, structured_output=False)
async def count(context: Context) -> str:
    """Counts to three and tells how far it is."""
    for progress in (1, 2, 3):
        await context.report_progress(progress, 3)
    return "counted"


@server.tool(annotations=READS, structured_output=False)
def ask_name(answer: Annotated[ElicitationResult[Name], Resolve(ask)]) -> str:
    """Asks the user for a name and greets."""
    return f"hello {answer.data.name}" if isinstance(answer, AcceptedElicitation) else f"no name: {answer.action}"


@server.tool(annotations=ADDS, structured_output=False)
async def add_tool(name: str, context: Context) -> str:
    """Adds a tool of this name."""
    if name not in [tool.name for tool in await server.list_tools()]:
        description = "Was not there from the beginning."
        added = lambda: f"{name} was added."
        server.add_tool(added, name=name, description=description, annotations=READS, structured_output=False)
        # Those who listen without a session, then the session of this call.
        await context.notify_tools_changed()
        await context.session.send_tool_list_changed()
    return f"The tool {name} is there now."


@server.prompt()
def greeting(name: str) -> str:
    """Greets somebody."""
    return f"Greet {name}."


@server.resource("test://note", mime_type="text/plain")
def note() -> str:
    """A note."""
    return "A note of a peer."


if __name__ == "__main__":
    sys.exit(main())
