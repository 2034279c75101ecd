import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { type Child, start } from "../support/child.ts";
import { fixture } from "../support/mcp_servers.ts";
import { OFFICE, startOffice } from "../support/office.ts";
import { gone } from "../support/processes.ts";

const MAIN = fileURLToPath(new URL("../../computer/main.ts", import.meta.url));

const command = (args: string[], env: Record<string, string> = {}): Child =>
  start(Deno.execPath(), ["run", "-A", "--quiet", MAIN, ...args], { env });

/** A configuration file of these servers, gone at the end of the scope. */
async function configFile(servers: Record<string, unknown>) {
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify({ servers }));
  return {
    file,
    [Symbol.asyncDispose]: () => Deno.remove(file),
  };
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  Deno.test(`smcp-computer run serves until ${signal}, exits 0 and leaves no child`, async () => {
    await using office = await startOffice();
    await using config = await configFile({
      a: fixture({}, { default_tool_meta: { auto_apply: true } }),
      broken: fixture({ start: "exit" }),
    });
    await using computer = command([
      "run",
      "--url",
      office.url,
      "--office",
      OFFICE,
      "--name",
      "pc",
      "--config",
      config.file,
    ]);
    await Promise.all([
      computer.line(/^connected to http/),
      computer.line(/^joined office north as pc$/),
      computer.line(/^MCP server a: running, \d+ tools$/),
      computer.line(/^MCP server broken: failed: .* exited with code 7/),
    ]);
    const pidOf = async (tool: string) =>
      Number((await office.agent.callTool("pc", tool, {})).content[0]?.text);
    const pids = [await pidOf("background"), await pidOf("pid")];
    await computer.line(/^call of pid by planner: ok, \d+ ms$/);
    computer.signal(signal);
    assertEquals((await computer.status).code, 0);
    for (const pid of pids) await gone(pid);
  });
}

Deno.test("smcp-computer run takes its options from the environment", async () => {
  await using office = await startOffice();
  await using config = await configFile({});
  await using computer = command(["run"], {
    SMCP_URL: office.url,
    SMCP_OFFICE: OFFICE,
    SMCP_NAME: "of the environment",
    SMCP_CONFIG: config.file,
  });
  await computer.line(/^joined office north as of the environment$/);
});

Deno.test("smcp-computer says in one line what went wrong, and exits 1, or 2 for wrong usage", async (t) => {
  await using office = await startOffice();
  await using good = await configFile({});
  await using bad = await configFile({ a: { type: "telnet" } });
  const to = (url: string, file: string, name = "pc") => [
    "run",
    "--url",
    url,
    "--office",
    OFFICE,
    "--name",
    name,
    "--config",
    file,
  ];
  await using taken = command(to(office.url, good.file));
  await taken.line(/^joined/);
  const rows: [string, string[], number, string][] = [
    [
      "no server",
      to("http://127.0.0.1:1", good.file),
      1,
      "nobody listens there; start a Server",
    ],
    ["no URL", to("foo", good.file), 1, '"foo"'],
    ["no file", to(office.url, "no/such.json"), 1, "no/such.json"],
    ["wrong file", to(office.url, bad.file), 1, "servers.a.type"],
    ["name taken", to(office.url, good.file), 1, '"pc"'],
    ["no office", ["run", "--config", good.file], 2, "--office"],
    ["unknown option", ["run", "--bogus"], 2, ""],
    ["unknown command", ["walk"], 2, "walk"],
  ];
  for (const [name, args, code, part] of rows) {
    await t.step(name, async () => {
      await using child = command(args);
      assertEquals((await child.status).code, code);
      const errors = child.lines.filter((line) => line.startsWith("error: "));
      assertEquals(errors.length, 1, child.lines.join("\n"));
      assertStringIncludes(errors[0] ?? "", part);
    });
  }
  for (
    const [flag, part] of [["--help", "Exit codes"], [
      "--version",
      "0.2.0",
    ]] as const
  ) {
    await t.step(flag, async () => {
      await using child = command([flag]);
      assertEquals((await child.status).code, 0);
      assertStringIncludes(child.lines.join("\n"), part);
    });
  }
});
