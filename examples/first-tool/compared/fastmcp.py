from typing import Annotated

from mcp.server.mcpserver import MCPServer
from pydantic import Field

server = MCPServer("language")


@server.tool(name="detect-language")
def detect_language(text: Annotated[str, Field(description="A text in English or German.")]) -> str:
    """Tells whether a text is English or German."""
    words = text.split()
    en = sum(word in ("the", "and", "is") for word in words)
    de = sum(word in ("der", "und", "ist") for word in words)
    return "en" if en > de else "de"


if __name__ == "__main__":
    server.run("stdio")
