// A small MCP server built with the official TypeScript SDK.
//
// It is an independent opinion on the gateway: nothing in here knows of it. It speaks both protocols, the sessions before
// 2026-07-28 and the requests that stand for themselves since then; the client's first message decides. The SDK comes
// from the folder that MCPPROXY_PEERS names.
//
//     server.mjs stdio
//     server.mjs http     on a free port of this machine; the first line of standard output is the address

import { randomUUID } from "node:crypto";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.resolve(process.env.MCPPROXY_PEERS, "npm", "package.json"));
const { McpServer, WebStandardStreamableHTTPServerTransport } = require("@modelcontextprotocol/server");
const { createMcpHandler, inputRequired, inputResponse, isLegacyRequest } = require("@modelcontextprotocol/server");
const { serveStdio } = require("@modelcontextprotocol/server/stdio");
const { toNodeHandler } = require("@modelcontextprotocol/node");
const { z } = require("zod");

const READS = { readOnlyHint: true, openWorldHint: false };
const ADDS = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** The names of the tools that were not there from the beginning. */
const added = new Set();

/** The instances that outlive a request: they tell their clients themselves when their tools change. */
const lasting = new Set();

/** Tells the clients that listen without a session, where there are any. */
let tellListeners = () => {};

function main(transport) {
  if (transport === "stdio") {
    serveStdio(() => keep(createServer()));
  } else if (transport === "http") {
    serveHttp();
  } else {
    process.stderr.write("server.mjs: say whether to serve stdio or http\n");
    process.exit(2);
  }
}

/** A server with all that there is to offer now. */
function createServer() {
  const server = new McpServer({ name: "typescript-peer", version: "1.0.0" });
  const tool = (name, description, annotations, inputSchema, call) =>
    server.registerTool(name, { description, annotations, inputSchema }, call);
  const numbers = z.object({ a: z.number(), b: z.number() });
  const named = z.object({ name: z.string() });
  tool("add", "Adds two numbers.", READS, numbers, ({ a, b }) => text(String(a + b)));
  tool("count", "Counts to three and tells how far it is.", READS, undefined, count);
  tool("ask_name", "Asks the user for a name and greets.", READS, undefined, askName);
  tool("add_tool", "Adds a tool of this name.", ADDS, named, ({ name }) => addTool(name));
  for (const name of added) offerAdded(server, name);
  server.registerPrompt("greeting", { description: "Greets somebody.", argsSchema: named }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${name}.` } }],
  }));
  server.registerResource("note", "test://note", { description: "A note.", mimeType: "text/plain" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "A note of a peer." }],
  }));
  return server;
}

async function count(context) {
  const { _meta, notify } = context.mcpReq;
  const progressToken = _meta?.progressToken;
  for (const progress of progressToken === undefined ? [] : [1, 2, 3]) {
    await notify({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
  }
  return text("counted");
}

/** The SDK asks a session with a request of its own, and calls this again with the answer. */
function askName(context) {
  const answer = inputResponse(context.mcpReq.inputResponses, "name");
  if (answer.kind === "missing") {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const question = inputRequired.elicit({ message: "What is your name?", requestedSchema });
    return inputRequired({ inputRequests: { name: question } });
  }
  return text(answer.action === "accept" ? `hello ${answer.content.name}` : `no name: ${answer.action}`);
}

function addTool(name) {
  if (!added.has(name)) {
    added.add(name);
    for (const server of lasting) offerAdded(server, name);
    tellListeners();
  }
  return text(`The tool ${name} is there now.`);
}

function offerAdded(server, name) {
  const description = "Was not there from the beginning.";
  server.registerTool(name, { description, annotations: READS }, () => text(`${name} was added.`));
}

function text(said) {
  return { content: [{ type: "text", text: said }] };
}

function keep(server) {
  lasting.add(server);
  server.server.onclose = () => lasting.delete(server);
  return server;
}

function serveHttp() {
  const stateless = createMcpHandler(createServer, { legacy: "reject" });
  tellListeners = () => stateless.notify.toolsChanged();
  const fetch = async (request, options) => {
    const isLegacy = await isLegacyRequest(request);
    return isLegacy ? fetchInSession(request) : stateless.fetch(request, options);
  };
  const listener = http.createServer(toNodeHandler({ fetch }));
  listener.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${listener.address().port}/mcp\n`));
}

/** The sessions, by their ids. */
const sessions = new Map();

async function fetchInSession(request) {
  const id = request.headers.get("mcp-session-id");
  if (id !== null && !sessions.has(id)) return new Response("there is no such session", { status: 404 });
  const transport = sessions.get(id) ?? (await openSession());
  return transport.handleRequest(request);
}

async function openSession() {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await keep(createServer()).connect(transport);
  return transport;
}

main(process.argv[2]);
