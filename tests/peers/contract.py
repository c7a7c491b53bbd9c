"""A small MCP server that announces the tool contract by hand, and breaks it.

It is what a service looks like whose author wrote the definitions down without anything that checks them. It needs
nothing but Python, and speaks the protocol with sessions over standard input and output.

    contract.py first      what it published first
    contract.py second     the same service later: a name is gone, a parameter is required, a field is gone, and a new
                           major version has the old name

Each fault is where its comment says so.
"""

import json
import sys

REVISION = "2025-06-18"
SERVICE_VERSION = "1.0.0"
IS_SECOND = sys.argv[1:] == ["second"]

# A removal date that has passed.
PAST = "2020-01-31"
# One that comes a day after its announcement, and not 90.
FAR = {"announced": "9999-01-01", "removalDate": "9999-01-02"}


def described(what: str) -> str:
    return f"{what}. Use when the service is tried out. Returns what was asked for. For example: show a note."


def closed(properties: dict, required: list[str]) -> dict:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def note_id() -> dict:
    return {"type": "string", "pattern": "^note_[0-9]+$", "description": "The id of the note"}


def output(data: dict) -> dict:
    return {"type": "object", "properties": {"data": {"type": "object", "properties": data}}}


def tool(name: str, what: str, schema: dict, example: dict, reads: bool = True, out: dict | None = None, **more) -> dict:
    definition = {
        "name": name,
        "description": described(what),
        "version": "1.0.0",
        "permissions": [],
        "category": "query" if reads else "mutation",
        "responseTime": "fast",
        "cacheable": False,
        "idempotent": reads,
        "examples": [{"description": what, "params": example, "expectedResult": {"id": "note_1"}}],
        "tags": ["notes"],
    }
    definition.update(more)
    return {
        "name": name,
        "description": definition["description"],
        "inputSchema": schema,
        "outputSchema": output(out or {"id": {"type": "string"}, "text": {"type": "string"}}),
        "annotations": {"readOnlyHint": reads, "destructiveHint": False},
        "_meta": {"dev.mcpproxy/definition": definition},
    }


def tools() -> list[dict]:
    one_note = closed({"noteId": note_id()}, ["noteId"])
    example = {"noteId": "note_1"}
    text = {"type": "string", "maxLength": 100, "description": "The text of the note"}
    # Nested parameters that take any name.
    due = {"type": "object", "properties": {"from": {"type": "string", "format": "date", "description": "The first day"}},
           "description": "The days on which the note is due"}
    listed = [
        # Its confidence is typed in.
        tool("get-note", "Reads one note", one_note, example),
        # Its roi is 99, whatever benefit and effort are.
        tool("rate-note", "Rates one note", one_note, example),
        # Its errors have no hints.
        tool("miss-note", "Looks for a note that is not there", one_note, example),
        # Its data is null.
        tool("drop-note", "Reads a note that is nothing", one_note, example),
        # Its confidence is more than 1.
        tool("trust-note", "Reads one note with all confidence", one_note, example),
        # It adds a tool while it says that it reads.
        tool("peek-note", "Reads one note, and changes what is offered", one_note, example),
        # It is still offered after its removal date.
        tool("old-note", "Reads one note as it was done before", one_note, example,
             deprecated={"replacement": "get-note", "removalDate": PAST}),
        # It is removed one day after it was announced.
        tool("late-note", "Reads one note as it was done lately", one_note, example,
             deprecated={"replacement": "get-note", **FAR}),
        # One call in an hour, and no more.
        tool("limit-note", "Reads one note, once", one_note, example, rateLimit={"maxCalls": 1, "windowMs": 3_600_000}),
        # A permission.
        tool("secret-note", "Reads one secret note", one_note, example, permissions=["notes:secret"]),
        # A mutation that is cached.
        tool("add-note", "Adds a note", closed({"text": text}, ["text"]), {"text": "a"}, reads=False,
             cacheable=True, cacheTTL=60),
        tool("find-notes", "Finds notes", closed({"due": due}, []), {"due": {"from": "2026-01-01"}}),
        tool("move-note", "Tells where a note is", closed({"noteId": note_id(), "place": text}, ["noteId"]), example,
             out={"id": {"type": "string"}, "place": {"type": "string"}}),
        tool("gone-note", "Reads one note that will be gone", one_note, example),
        tool("major-note", "Reads one note in its first version", one_note, example),
    ]
    if not IS_SECOND:
        return listed
    kept = [one for one in listed if one["name"] not in ("gone-note", "move-note", "major-note")]
    narrowed = closed({"noteId": note_id(), "place": {**text, "maxLength": 10}}, ["noteId", "place"])
    return kept + [
        tool("move-note", "Tells where a note is", narrowed, {**example, "place": "b"}, out={"id": {"type": "string"}}),
        tool("major-note", "Reads one note in its second version", one_note, example, version="2.0.0"),
    ]


def hints(confidence: float, roi: float = 4.25) -> dict:
    return {
        "suggestedNextActions": [],
        "relatedResources": [],
        "confidence": confidence,
        "sourceQuality": "high",
        "validityPeriod": "short",
        "contextNeeded": [],
        "assumptions": [],
        "riskFactors": [],
        "dependencies": [],
        "estimatedImpact": {"benefit": 0.85, "effort": 0.2, "roi": roi},
        "preferenceAlignment": [],
        # The word alone proves nothing.
        "reasoning": f"The confidence is {confidence}.",
    }


def metadata() -> dict:
    return {
        "toolVersion": "1.0.0",
        "timestamp": "2026-01-31T12:00:00Z",
        "executionTime": 1,
        "serviceVersion": SERVICE_VERSION,
    }


# How many notes were added.
added = 0


def call(name: str, arguments: dict) -> dict:
    global added
    data = {"id": arguments.get("noteId", "note_1"), "text": f"The text of {json.dumps(arguments)}"}
    result = {"data": data, "agentHints": hints(0.95), "metadata": metadata()}
    match name:
        case "rate-note":
            result["agentHints"] = hints(0.9, roi=99)
        case "drop-note":
            result["data"] = None
        case "trust-note":
            result["agentHints"] = hints(1.5)
        case "peek-note":
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        case "add-note":
            added += 1
            data["count"] = added
            result["metadata"]["cached"] = True
        case "miss-note":
            error = {"code": "NOT_FOUND", "message": "There is no such note", "category": "business", "retryable": False}
            result = {"error": error, "metadata": metadata()}
    text = "There is no such note" if "error" in result else "a note"
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": result,
        "isError": "error" in result,
    }


def answer(method: str, params: dict) -> dict | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": REVISION,
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "notes", "version": SERVICE_VERSION},
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": tools()}
        case "tools/call":
            return call(params["name"], params.get("arguments") or {})
    return None


def send(message: dict) -> None:
    print(json.dumps(message), flush=True)


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        if result is None:
            error = {"code": -32601, "message": "Method not found"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        else:
            send({"jsonrpc": "2.0", "id": message["id"], "result": result})


if __name__ == "__main__":
    main()
