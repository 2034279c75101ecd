/**
 * A Computer as the client of the conformance suite of MCP: it uses all that the server of a scenario offers.
 *
 * The last argument is the server's URL; what the scenario prescribes is in the environment.
 *
 * @module
 */
import { connectMcp } from "../../../computer/host/mcp/connect.ts";
import type { AnswerQuestion } from "../../../computer/host/mcp/mcp_connection.ts";
import { Authorizations } from "../../../computer/host/oauth/authorizations.ts";
import {
  connectionOf,
  hostOf,
  ONCE,
  reached,
} from "../../support/computer/host.ts";
import { scratch } from "../../support/scratch.ts";

const url = Deno.args.at(-1) ?? "";
const context = JSON.parse(Deno.env.get("MCP_CONFORMANCE_CONTEXT") ?? "{}");
const { client_id, client_secret } = context;

const folder = await scratch();
const authorizations = new Authorizations({
  oauth: {
    directory: folder.path,
    authorize: ({ url }) => {
      void fetch(url).then((response) => response.body?.cancel());
    },
  },
  authorized: () => host.authorized(),
});
const host = hostOf({
  suite: {
    type: "streamable",
    server_parameters: {
      url,
      ...(client_id && { oauth: { client_id, client_secret } }),
    },
  },
}, {
  restart: ONCE,
  connect: (config, signal) =>
    connectMcp(config, signal, {
      elicits: true,
      authorizer: (name, place) => authorizations.authorizer(name, place),
    }),
});

/** Fills in each field that has a default with it. */
const answer: AnswerQuestion = (question) => {
  const { properties } = Object(
    "requestedSchema" in question ? question.requestedSchema : {},
  );
  const content = Object.fromEntries(
    Object.entries(Object(properties)).flatMap(([name, field]) => {
      const { default: value } = Object(field);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return Promise.resolve({ action: "accept", content });
};

/** Goes on after a failure, as a Computer does. */
const attempt = async (what: string, work: () => Promise<unknown>) => {
  try {
    await work();
  } catch (error) {
    console.error(what, String(error));
  }
};

// A server of which the Computer is to refuse something never runs.
const late = setTimeout(() => Deno.exit(0), 30_000);
host.on("serverState", (status) => console.error(JSON.stringify(status)));
await host.start();
await reached(host, "suite", "running");
const connection = connectionOf(host, "suite");
const prescribed: { name: string; arguments: Record<string, unknown> }[] =
  context.toolCalls ?? [];
const { tools } = await connection.listTools();
/** The scenario compares what reaches a client with what it sent. */
const echo = tools.find(({ name }) => name === "json_schema_echo");
if (echo) {
  const [schema] = tools.filter((tool) => tool !== echo)
    .map(({ inputSchema }) => inputSchema);
  prescribed.push({ name: echo.name, arguments: { schema } });
}
const calls = prescribed.length > 0
  ? prescribed
  : tools.map(({ name, inputSchema: { properties } }) => ({
    name,
    arguments: Object.fromEntries(
      Object.entries(Object(properties)).map(([field, schema]) => [
        field,
        { number: 1, integer: 1, boolean: true, string: "x" }[
          String(Object(schema).type)
        ],
      ]),
    ),
  }));
for (const { name, arguments: params } of calls) {
  await attempt(name, () => connection.callTool(name, params, { answer }));
}
if (connection.capabilities.resources) {
  for (const { uri = "" } of await connection.listAllResources()) {
    await attempt(uri, () => connection.readResource(uri));
  }
}
if (connection.capabilities.prompts) {
  for (const prompt of await connection.listPrompts()) {
    const { name } = Object(prompt);
    await attempt(name, () => connection.getPrompt(name, {}, { answer }));
  }
}
clearTimeout(late);
await host.close();
await authorizations.close();
await folder[Symbol.asyncDispose]();
