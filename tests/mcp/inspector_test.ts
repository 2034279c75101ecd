/**
 * The Inspector of MCP as a client: over HTTP and through `smcp-agent mcp`, with MCP 2025-11-25 and
 * 2026-07-28.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fixtureHere } from "../support/computer/fixture_here.ts";
import { DENO_ENV, everything } from "../support/computer/mcp_servers.ts";
import {
  pipeCommand,
  type ServedGateway,
  startGateway,
} from "../support/mcp/gateway.ts";
import { mcpTools } from "../support/mcp/npm_tools.ts";
import { startSlowOffice } from "../support/mcp/tasks.ts";
import { scratch } from "../support/scratch.ts";
import { hurryTimers } from "../support/timers.ts";

/** How long a call runs before it becomes a task. */
const TASK_AFTER_MS = 8_000;

/** A resource of the reference server. */
const FEATURES = `a2c://pc/resource/all/${
  encodeURIComponent("demo://resource/static/document/features.md")
}`;

/** What the Inspector is asked for, and what has to be in the answer. */
const REQUESTS: readonly [request: readonly string[], includes: string][] = [
  [["--method", "tools/list", "--strict"], '"pc__echo"'],
  [[
    ...["--method", "tools/call", "--tool-name", "pc__echo"],
    ...["--tool-arg", "message=hello"],
  ], "Echo: hello"],
  [["--method", "resources/list"], `"${FEATURES}"`],
  [["--method", "resources/templates/list"], '"a2c://{computer}/desktop"'],
  [["--method", "resources/read", "--uri", FEATURES], '"text/markdown"'],
  [["--method", "prompts/list"], '"pc__args-prompt"'],
  [[
    ...["--method", "prompts/get", "--prompt-name", "pc__args-prompt"],
    ...["--prompt-args", "city=Bonn"],
  ], "What's weather in Bonn?"],
];

/** Runs the Inspector, and returns the result that it prints. */
async function inspect(
  args: readonly string[],
): Promise<Record<string, unknown>> {
  await using home = await scratch();
  const tools = await mcpTools();
  await using inspector = tools.start("mcp-inspector", [
    ...["--cli", ...args, "--format", "json"],
  ], {
    cwd: home.path,
    env: {
      HOME: home.path,
      MCP_INSPECTOR_SECRET_STORE: "memory",
      NO_PROXY: "127.0.0.1",
    },
  });
  const { code } = await inspector.status;
  const output = inspector.lines.join("\n");
  assertEquals(code, 0, output);
  const printed = inspector.lines.find((line) => line.startsWith("{"));
  return JSON.parse(printed ?? output).result;
}

/**
 * Without what results have with MCP 2026-07-28 alone: who has made them, how long they hold, and that they
 * are no tasks.
 */
const comparable = (result: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(result).filter(([name]) => !MODERN.includes(name)),
  );

const MODERN = ["_meta", "ttlMs", "cacheScope", "resultType"];

/** The options that name a server, for each way to reach the office. */
async function reaches(
  { url }: ServedGateway,
  folder: string,
): Promise<Record<string, string[]>> {
  const config = join(folder, "mcp.json");
  const office = { ...pipeCommand(url), type: "stdio", env: DENO_ENV_AT_HOME };
  await Deno.writeTextFile(config, JSON.stringify({ mcpServers: { office } }));
  return {
    http: [url.href, "--transport", "http"],
    stdio: ["--config", config, "--server", "office"],
  };
}

/** What Deno needs to find its cache where the home folder is another. */
const DENO_ENV_AT_HOME = {
  ...DENO_ENV,
  DENO_DIR: Deno.env.get("DENO_DIR") ??
    join(Deno.env.get("HOME") ?? "", ".cache", "deno"),
};

Deno.test({
  name:
    "the Inspector gets the same over HTTP and stdio, with both revisions, and finds no fault in the schemas",
  timeout: 300_000,
}, async (t) => {
  await using office = await startGateway({
    servers: { all: everything() },
  });
  await using folder = await scratch();
  const servers = await reaches(office, folder.path);
  for (const [request, includes] of REQUESTS) {
    await t.step(request.join(" "), async () => {
      const seen: unknown[] = [];
      for (const server of Object.values(servers)) {
        for (const era of ["legacy", "modern"]) {
          const options = [...server, "--protocol-era", era, ...request];
          seen.push(comparable(await inspect(options)));
        }
      }
      const [first, ...others] = seen;
      assertStringIncludes(JSON.stringify(first), includes);
      for (const other of others) assertEquals(other, first);
    });
  }
});

Deno.test({
  name: "the Inspector waits for the end of the task that a call has become",
  timeout: 300_000,
}, async () => {
  using _ = hurryTimers(TASK_AFTER_MS);
  await using slow = await startSlowOffice();
  const result = inspect([
    ...[slow.url.href, "--transport", "http", "--protocol-era", "modern"],
    ...["--method", "tools/call", "--tool-name", "pc__slow"],
  ]);
  await slow.asked("tasks/get");
  slow.release("slow");
  assertStringIncludes(JSON.stringify(await result), "slow is done");
});

Deno.test({
  name: "the Inspector's load of 20 calls at once has no error",
  timeout: 300_000,
}, async () => {
  await using office = await startGateway({
    servers: { fix: fixtureHere() },
  });
  const summary = await inspect([
    ...[office.url.href, "--transport", "http", "--method", "tools/call"],
    ...["--tool-name", "pc__echo", "--tool-arg", "text=hello"],
    ...["--load", "--load-requests", "1000", "--load-concurrency", "20"],
  ]);
  assertEquals([summary.ok, summary.errors, summary.toolErrors], [1000, 0, 0]);
});
