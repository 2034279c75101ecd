import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { runHere, runMain, startMain } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { gone, written } from "../../support/processes.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { startProxy } from "../../support/proxy.ts";
import { scratch } from "../../support/scratch.ts";

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  Deno.test({
    name:
      `smcp-computer run serves until ${signal}, exits 0 and leaves no child`,
    timeout: 120_000,
  }, async () => {
    await using office = await startOffice();
    await using config = await configFile({
      servers: {
        a: fixture({}, { default_tool_meta: { auto_apply: true } }),
        broken: fixture({ start: "exit" }),
      },
    });
    await using computer = runComputer(office, config.file);
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

Deno.test({
  name:
    "smcp-computer shell on a pipe, stopped while MCP servers start, exits 0 and leaves no child",
  timeout: 120_000,
}, async () => {
  await using folder = await scratch();
  const file = join(folder.path, "pid");
  const hangs = 'echo $$ > "$0"; exec sleep 1000'; // ignores the end of its input
  await using config = await configFile({
    servers: {
      a: {
        type: "stdio",
        server_parameters: { command: "sh", args: ["-c", hangs, file] },
      },
    },
  });
  await using shell = startMain("computer", ["shell", "--config", config.file]);
  const pid = Number(await written(file));
  shell.signal("SIGTERM");
  assertEquals((await shell.status).code, 0);
  await gone(pid);
});

Deno.test({
  name:
    "smcp-computer run --wait says once that it waits for a Server, and joins when there is one; a signal ends the wait",
  timeout: 120_000,
}, async () => {
  await using proxy = await startProxy("http://127.0.0.1:1");
  await using config = await configFile({ servers: {} });
  const args = [
    ...["run", "--wait", "--name", "pc", "--config", config.file],
    ...["--url", proxy.url, "--office", OFFICE],
  ];
  await using computer = startMain("computer", args);
  await using other = startMain("computer", args);
  await other.line(/^waiting for the Server: /);
  other.signal("SIGTERM");
  assertEquals((await other.status).code, 0);
  await computer.line(
    /^waiting for the Server: Cannot connect to http:\/\/127\.0\.0\.1:\d+: /,
  );
  await using office = await startOffice();
  proxy.turnTo(office.url);
  await computer.line(/^joined office north as pc$/);
  computer.signal("SIGTERM");
  assertEquals((await computer.status).code, 0);
  const waiting = computer.lines.filter((line) => line.startsWith("waiting"));
  assertEquals(waiting.length, 1, computer.lines.join("\n"));
});

Deno.test({
  name: "smcp-computer run reads its options from the environment",
  timeout: 120_000,
}, async () => {
  await using office = await startOffice();
  await using config = await configFile({ servers: {} });
  await using computer = startMain("computer", ["run"], {
    SMCP_URL: office.url,
    SMCP_OFFICE: OFFICE,
    SMCP_NAME: "of the environment",
    SMCP_CONFIG: config.file,
  });
  await computer.line(/^joined office north as of the environment$/);
});

Deno.test({
  name:
    "smcp-computer run warns of a name that MCP clients see with a hash, and of no other",
  timeout: 120_000,
}, async () => {
  await using office = await startOffice();
  await using config = await configFile({ servers: {} });
  const warning =
    'warning: MCP clients see another name than "build box" before its tools, with a hash; choose one of letters, digits and -, at most 22 characters, with --name';
  const expected = { "build box": [warning], "pc": [] };
  for (const [name, warnings] of Object.entries(expected)) {
    await using computer = runComputer(office, config.file, { name });
    await computer.line(RegExp(`^joined office north as ${name}$`));
    computer.signal("SIGTERM");
    await computer.status;
    assertEquals(
      computer.lines.filter((line) => line.includes("warning:")),
      warnings,
    );
  }
});

Deno.test({
  name:
    "smcp-computer reports an error in one line, and exits 1, or 2 for wrong usage",
  timeout: 120_000,
}, async (t) => {
  await using office = await startOffice();
  await using good = await configFile({ servers: {} });
  await using bad = await configFile({ servers: { a: { type: "telnet" } } });
  const to = (url: string, file: string) => [
    ...["run", "--url", url, "--office", OFFICE],
    ...["--name", "pc", "--config", file],
  ];
  await using taken = runComputer(office, good.file);
  await taken.line(/^joined/);
  const rows: [string, string[], number, string][] = [
    [
      "no server",
      to("http://127.0.0.1:1", good.file),
      1,
      "nobody listens there; start a Server, or correct the address with --url; or wait until it is there, with --wait",
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
      const run = name === "no office" ? runMain : runHere; // without SMCP_OFFICE
      const end = await run("computer", args);
      assertEquals(end.code, code);
      const lines = `${end.stdout}${end.stderr}`.split("\n");
      const errors = lines.filter((line) => line.startsWith("error: "));
      assertEquals(errors.length, 1, lines.join("\n"));
      assertStringIncludes(errors[0] ?? "", part);
    });
  }
  for (
    const [flag, part] of [["--help", "Exit codes"], [
      "--version",
      "A2C-SMCP 0.2.0, Deno ",
    ]] as const
  ) {
    await t.step(flag, async () => {
      await using child = startMain("computer", [flag]);
      assertEquals((await child.status).code, 0);
      assertStringIncludes(child.lines.join("\n"), part);
    });
  }
});
