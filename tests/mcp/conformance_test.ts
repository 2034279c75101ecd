/**
 * The conformance suite of MCP, against an office of a Server, whose one Computer has an MCP server
 * with the names that the suite asks for: once as a child process, once over HTTP; and against a
 * Computer as the client of the suite's own servers.
 *
 * What cannot be done is listed in `expected-*.yml`, each with its reason; the suite fails too when
 * something in it works.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { ServerSettings } from "../../computer/mod.ts";
import { DENO_ENV } from "../support/computer/mcp_servers.ts";
import { startGateway } from "../support/mcp/gateway.ts";
import { mcpTools } from "../support/mcp/npm_tools.ts";
import { shortenTimers } from "../support/timers.ts";
import { conformanceHttp } from "./conformance/server.ts";
import { createTasksServer } from "./conformance/tasks_server.ts";

/** An MCP server that runs, as a Computer is configured for it. */
interface Running extends AsyncDisposable {
  readonly settings: ServerSettings;
}

const PROGRAM = fileURLToPath(
  new URL("./conformance/mcp_server.ts", import.meta.url),
);

const asChild = (): Running => ({
  settings: {
    type: "stdio",
    server_parameters: {
      command: Deno.execPath(),
      args: ["run", "-A", "--quiet", PROGRAM],
      env: DENO_ENV,
    },
  },
  [Symbol.asyncDispose]: () => Promise.resolve(), // the Computer ends it
});

async function overHttp(): Promise<Running> {
  const { url, [Symbol.asyncDispose]: end } = await conformanceHttp();
  return {
    settings: { type: "streamable", server_parameters: { url } },
    [Symbol.asyncDispose]: end,
  };
}

const REVISIONS = [
  ["2025-11-25", "expected-2025.yml", asChild],
  // The suite leaves questions without an answer, and asks more: over HTTP it is known whose each is.
  ["2026-07-28", "expected-2026.yml", overHttp],
] as const;

for (const [revision, file, run] of REVISIONS) {
  Deno.test({
    name: `the conformance suite of MCP ${revision} finds what is expected`,
    timeout: 180_000,
  }, async () => {
    await using conf = await run();
    await using office = await startGateway({
      gateway: { computer: "pc" },
      servers: { conf: conf.settings },
      // The suite calls as a page of the Server's own address, too; without this none may.
      server: { origins: "*" },
    });
    const expected = new URL(`./${file}`, import.meta.url);
    const tools = await mcpTools();
    await using suite = tools.start("conformance", [
      ...["server", "--url", office.url.href],
      ...["--requirements", revision],
      ...["--expected-failures", fileURLToPath(expected)],
    ]);
    const { code } = await suite.status;
    assertEquals(code, 0, suite.lines.join("\n"));
  });
}

/** The scenarios of the Tasks extension (SEP-2663). */
const TASK_SCENARIOS = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-status-notifications",
  "tasks-required-task-error",
  "tasks-mrtr-composition",
];

Deno.test({
  name: "the conformance suite of MCP finds what is expected of tasks",
  timeout: 180_000,
}, async () => {
  // A call becomes a task after 8 seconds, and the suite's are shorter.
  using _ = shortenTimers(8_000, 300);
  const expected = new URL("./expected-tasks.yml", import.meta.url);
  const tools = await mcpTools();
  const failed: string[] = [];
  for (const scenario of TASK_SCENARIOS) {
    // Calls that the suite leaves behind would keep questions of others from being asked.
    await using office = await startGateway({
      gateway: { computer: "pc" },
      servers: { conf: { type: "in-process", server: createTasksServer() } },
      server: { origins: "*" },
    });
    await using suite = tools.start("conformance", [
      ...["server", "--url", office.url.href],
      ...["--scenario", scenario],
      ...["--expected-failures", fileURLToPath(expected)],
    ]);
    const { code } = await suite.status;
    if (code !== 0) failed.push(scenario, ...suite.lines);
  }
  assertEquals(failed, []);
});

const CLIENT = fileURLToPath(
  new URL("./conformance/client.ts", import.meta.url),
);
const CONFIG = fileURLToPath(new URL("../deno.json", import.meta.url));

for (const revision of ["2025-11-25", "2026-07-28"]) {
  Deno.test({
    name:
      `the conformance suite of clients of MCP ${revision} finds of a Computer what is expected`,
    timeout: 300_000,
  }, async () => {
    const expected = new URL("./expected-client.yml", import.meta.url);
    const tools = await mcpTools();
    const run = ["run", "-A", "--quiet", "--no-check", "--frozen"];
    await using suite = tools.start("conformance", [
      ...["client", "--requirements", revision],
      "--command",
      [Deno.execPath(), ...run, "--config", CONFIG, CLIENT].join(" "),
      ...["--expected-failures", fileURLToPath(expected)],
      ...["--timeout", "90000"], // all at once, each in a process of its own
    ], { env: DENO_ENV });
    const { code } = await suite.status;
    assertEquals(code, 0, suite.lines.join("\n"));
  });
}
