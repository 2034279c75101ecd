import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { runMain } from "../../../support/command.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { hostOf, ONCE } from "../../../support/computer/host.ts";
import { scripted } from "../../../support/computer/scripted.ts";
import type { Script } from "../../../support/fixtures/scripted_server.ts";

const FRAMES = Array.from(
  { length: 30 },
  (_, at) => `    at step${at} (file:///srv/app.mjs:${at}:1)\n`,
).join("");

/** MCP servers that do not start, and the parts of the reason. */
const STARTS: Readonly<
  Record<string, [script: Script, says: string[], saysNot?: string[]]>
> = {
  "another version": [
    { initialize: { protocolVersion: "2026-07-28" } },
    ['"protocolVersion": "2026-07-28"', "is not supported", "2025-11-25"],
    ["exited with code"],
  ],
  "a field is missing": [
    { initialize: { serverInfo: null } },
    ['its answer to "initialize" is not valid', '"serverInfo"'],
    ["exited with code", "{"],
  ],
  "a field of another type": [
    { initialize: { capabilities: [], protocolVersion: 3 } },
    ['"capabilities"', '"protocolVersion"'],
    ["exited with code", "{"],
  ],
  "an error": [
    { answer: { error: { code: -32602, message: "licence has expired" } } },
    ['its answer to "initialize" is an error', "licence has expired"],
    ["exited with code"],
  ],
  "a usage on its output": [
    { banner: "Usage: serve [options]\n  --port\n", exit: 0 },
    [
      "exited with code 0 before it answered",
      'it printed "Usage: serve [options]\\n  --port"',
    ],
  ],
  "a long line on its output": [
    { banner: `\x1b[31m${"z".repeat(10_000)}\n`, exit: 1 },
    ['it printed "\\u001b[31mzzz', 'zz…"'],
    ["z".repeat(300)],
  ],
  "a secret on its output, where it would be cut": [
    { banner: `${"y".repeat(190)} hunter2-hunter2\n`, exit: 1 },
    ["yy <redact"],
    ["hunter"],
  ],
  "a stack": [
    { complaint: `Error: no licence\n${FRAMES}`, exit: 3 },
    ["exited with code 3 before it answered: Error: no licence"],
    ["step"],
  ],
};

const servers = Object.fromEntries(
  Object.entries(STARTS).map(([name, [script]]) => [
    name,
    scripted(script, {
      server_parameters: {
        command: Deno.execPath(),
        env: { API_KEY: "hunter2-hunter2" },
      },
    }),
  ]),
);

Deno.test("an MCP server that does not start says why: the field that was refused, or what it printed", async (t) => {
  await using host = hostOf(servers, { restart: ONCE });
  await host.start();
  for (const [name, [, says, saysNot = []]] of Object.entries(STARTS)) {
    await t.step(name, () => {
      const { error = "" } = host.statuses.find((one) => one.name === name) ??
        {};
      const line = error.replaceAll("\n", ": ");
      for (const part of says) assertStringIncludes(line, part);
      for (const part of saysNot) assert(!line.includes(part), line);
    });
  }
});

Deno.test("an MCP server that prints other lines in place of its answer is quoted when its time is over", async () => {
  await using host = hostOf({
    a: scripted({
      banner: "Listening on port 8080\n",
      answer: { id: 98_765, result: {} },
    }),
  }, { restart: ONCE, startTimeoutMs: 3_000 });
  await host.start();
  const { error = "" } = host.statuses[0] ?? {};
  assertStringIncludes(error, "it was not ready within 3 s");
  assertStringIncludes(error, 'it printed "Listening on port 8080');
});

Deno.test("a banner before the answers does no harm", async () => {
  await using host = hostOf({ a: scripted({ banner: "Welcome!\n" }) });
  await host.start();
  assertEquals(host.statuses[0]?.state, "running");
});

Deno.test("smcp-computer check has one line for each MCP server that does not start", async () => {
  await using config = await configFile({ servers });
  const args = ["check", "--config", config.file, "--no-skills"];
  const { code, stdout } = await runMain("computer", args);
  assertEquals(code, 1);
  const problems = stdout.split("\n").filter((line) =>
    line.startsWith("problem: ")
  );
  assertEquals(problems.length, Object.keys(STARTS).length, stdout);
  for (const [name, [, says]] of Object.entries(STARTS)) {
    const problem = problems.find((line) => line.includes(`"${name} (`)) ?? "";
    for (const part of says) assertStringIncludes(problem, part);
  }
  const after = stdout.slice(stdout.indexOf("problem: "));
  assert(!after.includes("step"), after);
});

Deno.test("smcp-computer check sees the tools that run has: those for clients that can be asked, too", async () => {
  await using config = await configFile({
    servers: { a: scripted({ asks: true }, { forbidden_tools: ["ask"] }) },
  });
  const args = ["check", "--config", config.file, "--no-skills"];
  const { code, stdout } = await runMain("computer", args);
  assertEquals([code, stdout.includes("problem: ")], [0, false], stdout);
});
