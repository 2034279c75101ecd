/**
 * Claude Code and Codex, as npm has them, sign in with nothing but the URL of an office.
 *
 * Each sends its own metadata document as its id, which is not fetched here: ours stand in for them, with
 * what the clients were seen to ask for.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Child } from "../support/child.ts";
import { fixtureHere } from "../support/computer/fixture_here.ts";
import { type Login, login } from "../support/mcp/login.ts";
import { startModel, type StubModel } from "../support/mcp/models.ts";
import { realClients } from "../support/mcp/npm_tools.ts";
import { scratch } from "../support/scratch.ts";
import { SignedInServer } from "../support/server/signed_in_server.ts";
import {
  claude,
  claudeEnv,
  codex,
  codexEnv,
  configureCodex,
  SAID,
} from "./clients.ts";

const CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata";
const CODEX = "https://chatgpt.com/oauth/codex/client.json";

/** By their addresses, which are the ids of the programs. */
const DOCUMENTS: Readonly<Record<string, object>> = {
  [CLAUDE_CODE]: {
    client_name: "Claude Code",
    redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
  },
  [CODEX]: {
    client_name: "Codex",
    redirect_uris: ["http://127.0.0.1/callback", "http://localhost/callback"],
  },
};

/** Starts a Server whose office "north" has the fixture. */
const startServer = () =>
  SignedInServer.start({
    servers: { fix: fixtureHere() },
    signIn: {
      fetchDocument: (url) =>
        Promise.resolve(
          Response.json({ ...DOCUMENTS[url.href], client_id: url.href }),
        ),
    },
  });

/** Types where the browser went, as a person does whose browser is on another machine. */
async function pasted(
  { terminal, asked, answer }: Login,
): Promise<URLSearchParams> {
  await terminal.type(`${answer}\r`);
  const { code } = await terminal.end;
  assertEquals(code, 0, terminal.screen().all);
  return asked;
}

/** Waits until a client has ended well, and its model has seen what the tool said. */
async function called(running: Child, model: StubModel): Promise<void> {
  const { code } = await running.status;
  const output = running.lines.join("\n");
  assertEquals(code, 0, output);
  assertStringIncludes(model.results[0] ?? "", SAID, output);
}

Deno.test({
  name: "claude signs in by its commands, and calls a tool of a Computer",
  timeout: 180_000,
}, async () => {
  const tools = await realClients();
  await using home = await scratch();
  await using server = await startServer();
  await using model = await startModel(claude.api);
  const url = `${server.url}/mcp/north`;
  const options = { cwd: home.path, env: claudeEnv(home.path, model) };
  await using added = tools.start("claude", [
    ...["mcp", "add", "--transport", "http", "office", url],
  ], options);
  assertEquals((await added.status).code, 0, added.lines.join("\n"));
  const words = ["claude", "mcp", "login", "office", "--no-browser"];
  const asked = await login(tools, { words, ...options }, server, pasted);
  assertEquals(asked.get("client_id"), CLAUDE_CODE);
  assertEquals(asked.get("resource"), url);
  await using running = tools.start("claude", [
    ...["-p", "go", "--output-format", "stream-json", "--verbose"],
    ...["--allowedTools", "mcp__office__*"],
  ], options);
  await called(running, model);
});

Deno.test({
  name: "codex signs in by its command, and calls a tool of a Computer",
  timeout: 180_000,
}, async () => {
  const tools = await realClients();
  await using home = await scratch();
  await using server = await startServer();
  await using model = await startModel(codex.api);
  const reach = { url: `${server.url}/mcp/north` };
  const options = { cwd: home.path, env: codexEnv(home.path) };
  await configureCodex(home.path, model, reach);
  const words = ["codex", "mcp", "login", "office", "--no-browser"];
  const asked = await login(tools, { words, ...options }, server, pasted);
  assertEquals(asked.get("client_id"), CODEX);
  assertEquals(asked.get("resource"), reach.url);
  await using running = await codex.start(tools, home.path, model, reach);
  await called(running, model);
});
