// Drives one MCP session with the official TypeScript SDK and prints what the SDK made of it.
//
// It is an independent opinion on the gateway: nothing in here knows the gateway's types. It must never print anything
// but its result on standard output, because a test reads that as JSON. The SDK comes from the folder that
// MCPPROXY_PEERS names.
//
//     client.mjs [--sdk 1|2] [--protocol auto|legacy|REVISION] [--timeout SECONDS] --url URL [--header NAME=VALUE]...
//     client.mjs [--sdk 1|2] [--protocol auto|legacy|REVISION] [--timeout SECONDS] --stdio COMMAND [ARGUMENT]...
//
// With `--elicit ANSWER`, before either, the user can be asked, and gives this answer (JSON) to everything.
//
// Standard input is a JSON array of steps, each `{"op": NAME, ...}` with the names of `OPERATIONS` below. Standard
// output is one JSON array with one entry per step: `{"ok": RESULT}` or `{"error": {"code", "message", "data"}}`; the
// code is null when the SDK itself refused an answer. Exit code 0 means that the session worked, 1 that it did not, 2
// wrong usage.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

// What a step may ask for. The methods have the same names in both majors of the SDK.
const OPERATIONS = {
  server_info: (client) => ({
    // The first major tells the revision over HTTP only, where it needs it for a header.
    protocolVersion: client.getNegotiatedProtocolVersion?.() ?? client.transport?.protocolVersion ?? null,
    instructions: client.getInstructions() ?? null,
    serverInfo: client.getServerVersion() ?? null,
    capabilities: client.getServerCapabilities() ?? null,
  }),
  list_tools: (client) => client.listTools(),
  call_tool: (client, step) => client.callTool({ name: step.name, arguments: step.arguments ?? {} }),
  call_tool_with_progress: callToolWithProgress,
  list_prompts: (client) => client.listPrompts(),
  get_prompt: (client, step) => client.getPrompt({ name: step.name, arguments: step.arguments ?? {} }),
  list_resources: (client) => client.listResources(),
  list_resource_templates: (client) => client.listResourceTemplates(),
  read_resource: (client, step) => client.readResource({ uri: step.uri }),
  ping: (client) => client.ping(),
  // What the user was asked so far.
  questions: () => ({ questions }),
  listen,
  await_tools_changed: () => toolsChanged.promise.then(() => ({})),
};

/** The parameters of all that the user was asked. */
const questions = [];

/** Settled by the first notification that there are other tools. */
const toolsChanged = Promise.withResolvers();

async function main() {
  const options = parseOptions(process.argv.slice(2));
  const steps = readSteps();
  const sdk = loadSdk(options.sdk);
  let outcomes;
  try {
    outcomes = await runSession(sdk, options, steps);
  } catch (failure) {
    finish(1, `the session failed: ${describe(failure)}`);
  }
  // Exiting before the pipe has taken everything would cut a long result.
  process.stdout.write(`${JSON.stringify(outcomes)}\n`, () => process.exit(0));
}

async function callToolWithProgress(client, step) {
  const progress = [];
  const call = { name: step.name, arguments: step.arguments ?? {} };
  const options = { onprogress: (told) => progress.push(told) };
  // The first major takes the schema of the result in between.
  const result = await (client.listen ? client.callTool(call, options) : client.callTool(call, undefined, options));
  return { result, progress };
}

/** Without a session nobody is told of changes who did not ask for it. */
async function listen(client) {
  if (client.getNegotiatedProtocolVersion?.() >= "2026-07-28") await client.listen({ toolsListChanged: true });
  return {};
}

/** Opens one session, performs the steps in their order and closes it, whatever happened. */
async function runSession(sdk, options, steps) {
  const client = new sdk.Client({ name: "mcpproxy-tests", version: "1.0.0" }, clientOptions(options));
  attend(client, sdk, options);
  const transport = openTransport(sdk, options);
  try {
    return await Promise.race([converse(client, transport, steps), failAfter(options.timeoutSeconds)]);
  } finally {
    // The transport, because a client that never finished connecting does not close what it was given.
    await transport.close();
  }
}

/** Answers for the user, and hears of other tools. The first major names messages by their schemas. */
function attend(client, sdk, options) {
  const isFirst = options.sdk === "1";
  if (options.elicit !== undefined) {
    client.setRequestHandler(isFirst ? sdk.ElicitRequestSchema : "elicitation/create", (request) => {
      questions.push(request.params);
      return options.elicit;
    });
  }
  const changed = isFirst ? sdk.ToolListChangedNotificationSchema : "notifications/tools/list_changed";
  client.setNotificationHandler(changed, () => toolsChanged.resolve());
}

async function converse(client, transport, steps) {
  await client.connect(transport);
  const outcomes = [];
  for (const step of steps) {
    outcomes.push(await perform(client, step));
  }
  // A real client ends its session with a DELETE; servers without sessions answer 405, which the SDK accepts.
  await transport.terminateSession?.();
  return outcomes;
}

function failAfter(seconds) {
  return new Promise((_resolve, reject) => {
    // Unreferenced, so that a finished session does not wait for it.
    setTimeout(() => reject(new Error(`not finished after ${seconds} seconds`)), seconds * 1000).unref();
  });
}

async function perform(client, step) {
  try {
    return { ok: await OPERATIONS[step.op](client, step) };
  } catch (failure) {
    // Errors that the SDK raises itself carry a word as their code, errors from the wire a number.
    if (typeof failure?.code === "number") {
      return { error: { code: failure.code, message: failure.message, data: failure.data } };
    }
    return { error: { code: null, message: describe(failure) } };
  }
}

function openTransport(sdk, options) {
  if (options.url !== undefined) {
    return new sdk.StreamableHTTPClientTransport(new URL(options.url), { requestInit: { headers: options.headers } });
  }
  const [command, ...args] = options.stdio;
  // The SDK would pass on a handful of variables only; a test decides itself what the server may see.
  return new sdk.StdioClientTransport({ command, args, env: { ...process.env }, stderr: "inherit" });
}

function clientOptions(options) {
  const capabilities = options.elicit === undefined ? {} : { elicitation: { form: {} } };
  if (options.protocol === undefined || options.sdk === "1") return { capabilities };
  const mode = options.protocol === "auto" || options.protocol === "legacy" ? options.protocol : { pin: options.protocol };
  return { capabilities, versionNegotiation: { mode } };
}

function loadSdk(major) {
  const peers = process.env.MCPPROXY_PEERS;
  if (!peers) finish(2, "MCPPROXY_PEERS is not set: run `cargo xtask setup` and set it to the folder it prints");
  const require = createRequire(path.resolve(peers, "npm", "package.json"));
  if (major === "2") {
    return { ...require("@modelcontextprotocol/client"), ...require("@modelcontextprotocol/client/stdio") };
  }
  return {
    ...require("@modelcontextprotocol/sdk/client/index.js"),
    ...require("@modelcontextprotocol/sdk/client/stdio.js"),
    ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    ...require("@modelcontextprotocol/sdk/types.js"),
  };
}

function parseOptions(words) {
  const options = { sdk: "2", timeoutSeconds: 60, headers: {} };
  while (words.length > 0) {
    const word = words.shift();
    if (word === "--stdio") {
      options.stdio = words.splice(0);
    } else if (["--sdk", "--protocol", "--timeout", "--url", "--header", "--elicit"].includes(word) && words.length > 0) {
      setOption(options, word, words.shift());
    } else {
      finish(2, `'${word}' is no option, or its value is missing`);
    }
  }
  if ((options.url === undefined) === !options.stdio?.length) finish(2, "give either --url URL or --stdio COMMAND");
  if (options.sdk === "1" && ![undefined, "legacy"].includes(options.protocol)) {
    finish(2, `this SDK speaks the initialize handshake only, so --protocol ${options.protocol} is impossible`);
  }
  return options;
}

function setOption(options, word, value) {
  if (word === "--header") {
    const [name, ...rest] = value.split("=");
    if (rest.length === 0) finish(2, `header '${value}' has no '='`);
    options.headers[name] = rest.join("=");
  } else if (word === "--timeout") {
    options.timeoutSeconds = Number(value);
    if (!(options.timeoutSeconds > 0)) finish(2, `--timeout '${value}' is not a number of seconds`);
  } else if (word === "--elicit") {
    options.elicit = JSON.parse(value);
  } else if (word === "--sdk" && !["1", "2"].includes(value)) {
    finish(2, `--sdk '${value}': must be 1 or 2`);
  } else {
    options[word.slice(2)] = value;
  }
}

function readSteps() {
  let steps;
  try {
    steps = JSON.parse(readFileSync(0, "utf8"));
  } catch (mistake) {
    finish(2, `standard input is not JSON: ${mistake.message}`);
  }
  if (!Array.isArray(steps)) finish(2, "standard input is not a JSON array of steps");
  const unknown = steps.filter((step) => !Object.hasOwn(OPERATIONS, step?.op));
  if (unknown.length > 0) finish(2, `no such op: ${unknown.map((step) => step?.op).join(", ")}`);
  return steps;
}

function describe(failure) {
  return failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure);
}

function finish(code, message) {
  process.stderr.write(`client.mjs: ${message}\n`);
  process.exit(code);
}

await main();
