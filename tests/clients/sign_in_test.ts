/**
 * Claude Code and Codex, as npm has them, sign in with nothing but the URL of an office.
 *
 * Each sends its own metadata document as its id, which is not fetched here: ours stand in for them, with
 * what the clients were seen to ask for.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fixtureHere } from "../support/computer/fixture_here.ts";
import { startModel } from "../support/mcp/models.ts";
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
import { login } from "./login.ts";

/** By their addresses, which are the ids of the programs. */
const DOCUMENTS: Readonly<Record<string, object>> = {
  "https://claude.ai/oauth/claude-code-client-metadata": {
    client_name: "Claude Code",
    redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
  },
  "https://chatgpt.com/oauth/codex/client.json": {
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

Deno.test({
  name: "claude signs in by three commands, and calls a tool of a Computer",
  timeout: 180_000,
}, async () => {
  const tools = await realClients();
  await using home = await scratch();
  await using server = await startServer();
  await using model = await startModel(claude.api);
  const options = { cwd: home.path, env: claudeEnv(home.path, model) };
  const began = performance.now();
  await using added = tools.start("claude", [
    ...["mcp", "add", "--transport", "http", "office"],
    `${server.url}/mcp/north`,
  ], options);
  assertEquals((await added.status).code, 0, added.lines.join("\n"));
  const asked = await login(tools, {
    command: "claude",
    args: ["mcp", "login", "office", "--no-browser"],
    ...options,
  }, server);
  assertEquals(asked.get("resource"), `${server.url}/mcp/north`);
  await using running = tools.start("claude", [
    ...["-p", "go", "--output-format", "stream-json", "--verbose"],
    ...["--allowedTools", "mcp__office__*"],
  ], options);
  const { code } = await running.status;
  const output = running.lines.join("\n");
  assertEquals(code, 0, output);
  assertStringIncludes(model.results[0] ?? "", SAID, output);
  console.log(
    `${
      Math.round(performance.now() - began)
    } ms from the first command to the result`,
  );
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
  await configureCodex(home.path, model, reach);
  const asked = await login(tools, {
    command: "codex",
    args: ["mcp", "login", "office", "--no-browser"],
    cwd: home.path,
    env: codexEnv(home.path),
  }, server);
  Deno.writeTextFileSync("/tmp/si-codex.txt", String(asked) + "\n");
  await using running = await codex.start(tools, home.path, model, reach);
  const { code } = await running.status;
  const output = running.lines.join("\n");
  assertEquals(code, 0, output);
  assertStringIncludes(model.results[0] ?? "", SAID, output);
});
