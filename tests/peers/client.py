"""Drives one MCP session with the official Python SDK and prints what the SDK made of it.

It is an independent opinion on the gateway: nothing in here knows the gateway's types. It must never print anything
but its result on standard output, because a test reads that as JSON. It runs under both majors of the SDK; the
interpreter that starts it decides which one.

    client.py [--protocol auto|legacy|REVISION] [--timeout SECONDS] --url URL [--header NAME=VALUE]...
    client.py [--protocol auto|legacy|REVISION] [--timeout SECONDS] --stdio COMMAND [ARGUMENT]...

With `--elicit ANSWER`, before either, the user can be asked, and gives this answer (JSON) to everything.

Standard input is a JSON array of steps, each `{"op": NAME, ...}` with the names of `OPERATIONS` below. Standard output
is one JSON array with one entry per step: `{"ok": RESULT}` or `{"error": {"code", "message", "data"}}`; the code is null
when the SDK itself refused an answer. Exit code 0 means that the session worked, 1 that it did not, 2 wrong usage.
"""

import argparse
import asyncio
import json
import os
import sys
import warnings
from contextlib import AsyncExitStack
from datetime import timedelta

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

# The second major brought a client class that negotiates the protocol; the first has the bare session only.
NEGOTIATES = hasattr(mcp, "Client")

if NEGOTIATES:
    from mcp.shared.exceptions import MCPError as ProtocolError
else:
    from mcp.shared.exceptions import McpError as ProtocolError


def main() -> int:
    options = parse_options()
    steps = read_steps()
    # Deprecation notes of the SDK belong to its users, not to a test's log.
    warnings.simplefilter("ignore")
    try:
        outcomes = asyncio.run(asyncio.wait_for(run_session(options, steps), options.timeout))
    except Exception as failure:
        print(f"client.py: the session failed: {describe(failure)}", file=sys.stderr)
        return 1
    json.dump(outcomes, sys.stdout)
    print()
    return 0


async def run_session(options: argparse.Namespace, steps: list[dict]) -> list[dict]:
    """Opens one session, performs the steps in their order and closes it."""
    async with AsyncExitStack() as stack:
        transport = await open_transport(options, stack)
        attendant = Attendant(options.elicit, stack)
        attending = attendant.callbacks()
        if NEGOTIATES:
            negotiation = {} if options.protocol is None else {"mode": options.protocol}
            client = mcp.Client(transport, read_timeout_seconds=options.timeout, **attending, **negotiation)
            session = await stack.enter_async_context(client)
            server = {"protocolVersion": client.protocol_version, "instructions": client.instructions}
            described = {"serverInfo": client.server_info, "capabilities": client.server_capabilities}
        else:
            streams = await stack.enter_async_context(transport)
            deadline = timedelta(seconds=options.timeout)
            client = mcp.ClientSession(*streams[:2], read_timeout_seconds=deadline, **attending)
            session = await stack.enter_async_context(client)
            welcome = await session.initialize()
            server = {"protocolVersion": welcome.protocolVersion, "instructions": welcome.instructions}
            described = {"serverInfo": welcome.serverInfo, "capabilities": welcome.capabilities}
        server |= {name: as_json(value) for name, value in described.items()}
        return [await perform(session, attendant, server, step) for step in steps]


class Attendant:
    """Answers for the user, and hears of other tools."""

    def __init__(self, answer: dict | None, stack: AsyncExitStack):
        self.answer = answer
        self.stack = stack
        self.questions = []
        self.tools_changed = asyncio.Event()

    def callbacks(self) -> dict:
        asked = {} if self.answer is None else {"elicitation_callback": self.elicit}
        return {"message_handler": self.hear, **asked}

    async def elicit(self, _context, params):
        self.questions.append(as_json(params))
        return mcp.types.ElicitResult(**self.answer)

    async def hear(self, message) -> None:
        # The first major wraps notifications.
        if isinstance(getattr(message, "root", message), mcp.types.ToolListChangedNotification):
            self.tools_changed.set()

    async def listen(self, client) -> dict:
        """Without a session nobody is told of changes who did not ask for it."""
        if NEGOTIATES and client.protocol_version >= "2026-07-28":
            await self.stack.enter_async_context(client.listen(tools_list_changed=True))
        return {}

    async def await_tools_changed(self) -> dict:
        await self.tools_changed.wait()
        return {}


async def open_transport(options: argparse.Namespace, stack: AsyncExitStack):
    if options.url is None:
        command, *arguments = options.stdio
        # The SDK would pass on a handful of variables only; a test decides itself what the server may see.
        return stdio_client(StdioServerParameters(command=command, args=arguments, env=dict(os.environ)))
    http_client = await stack.enter_async_context(create_mcp_http_client(headers=dict(options.header)))
    return streamable_http_client(options.url, http_client=http_client)


# What a step may ask for. `client` is the SDK's client or session, whose methods have the same names in both majors.
OPERATIONS = {
    "list_tools": lambda client, step: client.list_tools(),
    "call_tool": lambda client, step: client.call_tool(step["name"], step.get("arguments", {})),
    "list_prompts": lambda client, step: client.list_prompts(),
    "get_prompt": lambda client, step: client.get_prompt(step["name"], step.get("arguments", {})),
    "list_resources": lambda client, step: client.list_resources(),
    "list_resource_templates": lambda client, step: client.list_resource_templates(),
    "read_resource": lambda client, step: client.read_resource(step["uri"]),
    "ping": lambda client, step: client.send_ping(),
}


# What a step may ask of the attendant.
ATTENDANCE = {
    "questions": lambda attendant, client: {"questions": attendant.questions},
    "listen": lambda attendant, client: attendant.listen(client),
    "await_tools_changed": lambda attendant, client: attendant.await_tools_changed(),
}


async def call_with_progress(client, step: dict) -> dict:
    told = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append({"progress": progress, "total": total, "message": message})

    result = await client.call_tool(step["name"], step.get("arguments", {}), progress_callback=hear)
    return {"result": as_json(result), "progress": told}


async def perform(session, attendant: Attendant, server: dict, step: dict) -> dict:
    if step["op"] == "server_info":
        return {"ok": server}
    try:
        if step["op"] == "call_tool_with_progress":
            return {"ok": await call_with_progress(session, step)}
        if step["op"] in ATTENDANCE:
            outcome = ATTENDANCE[step["op"]](attendant, session)
            return {"ok": await outcome if asyncio.iscoroutine(outcome) else outcome}
        return {"ok": as_json(await OPERATIONS[step["op"]](session, step))}
    except ProtocolError as refusal:
        return {"error": as_json(refusal.error)}
    except Exception as failure:
        return {"error": {"code": None, "message": describe(failure)}}


def as_json(value):
    """What came over the wire, as far as the SDK kept it: without the defaults the SDK adds."""
    return None if value is None else value.model_dump(mode="json", by_alias=True, exclude_unset=True)


def describe(failure: BaseException) -> str:
    """One line; the SDK wraps the true cause in groups of one exception."""
    while isinstance(failure, BaseExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return f"{type(failure).__name__}: {failure}"


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="client.py", allow_abbrev=False)
    parser.add_argument("--protocol", help="auto, legacy or a modern revision; the SDK's own default if left out")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="for the whole session")
    parser.add_argument("--header", action="append", default=[], type=header, metavar="NAME=VALUE")
    parser.add_argument("--elicit", type=json.loads, metavar="ANSWER", help="what the user answers, as JSON")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--url")
    where.add_argument("--stdio", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args()
    if options.stdio is not None and not options.stdio:
        parser.error("--stdio needs a command")
    if options.protocol not in (None, "legacy") and not NEGOTIATES:
        parser.error(f"this SDK speaks the initialize handshake only, so --protocol {options.protocol} is impossible")
    return options


def header(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"'{text}' has no '='")
    return name, value


def read_steps() -> list[dict]:
    try:
        steps = json.load(sys.stdin)
        known = {"server_info", "call_tool_with_progress", *ATTENDANCE, *OPERATIONS}
        unknown = [step["op"] for step in steps if step["op"] not in known]
    except (ValueError, KeyError, TypeError) as mistake:
        print(f"client.py: standard input is not a JSON array of steps: {describe(mistake)}", file=sys.stderr)
        raise SystemExit(2) from mistake
    if unknown:
        print(f"client.py: no such op: {', '.join(map(str, unknown))}", file=sys.stderr)
        raise SystemExit(2)
    return steps


if __name__ == "__main__":
    sys.exit(main())
