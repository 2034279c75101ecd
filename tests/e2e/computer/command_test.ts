import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { dirname, join } from "node:path";
import { runHere, runMain, startMain } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { resourceServers } from "../../support/computer/resource_servers.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { gone, written } from "../../support/processes.ts";
import { startGateway } from "../../support/mcp/gateway.ts";
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
    assert(!computer.lines.join("\n").includes("warning:"), "of its name");
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
  name:
    "smcp-computer run reads its options from the environment, and warns of a name that MCP clients see with a hash",
  timeout: 120_000,
}, async () => {
  await using office = await startOffice();
  await using config = await configFile({ servers: {} });
  await using computer = startMain("computer", ["run"], {
    SMCP_URL: office.url,
    SMCP_OFFICE: OFFICE,
    SMCP_NAME: "build box",
    SMCP_CONFIG: config.file,
  });
  await computer.line(/^joined office north as build box$/);
  computer.signal("SIGTERM");
  await computer.status;
  assertEquals(computer.lines.filter((line) => line.includes("warning:")), [
    'warning: MCP clients see another name than "build box" before its tools, with a hash; choose one of letters, digits and -, at most 22 characters, with --name',
  ]);
});

Deno.test("smcp-computer check lists what each MCP server offers, and exits 0 without problems", async () => {
  await using config = await configFile({
    inputs: [{ type: "promptString", id: "level", description: "" }],
    servers: {
      files: fixture({ only: ["echo"] }, {
        server_parameters: {
          command: Deno.execPath(),
          env: { L: "${input:level}" },
        },
      }),
      ...resourceServers({
        name: "screen",
        resources: [
          { uri: "window://screen/a", name: "A" },
          { uri: "dpe://screen/report", name: "Report" },
        ],
      }),
      off: { ...fixture(), disabled: true },
    },
  });
  const args = ["check", "--config", config.file, "--input", "level=1"];
  const { code, stdout, stderr } = await runMain("computer", args);
  assertEquals(code, 0, stdout + stderr);
  assertMatch(stdout, /^✓ files +stdio +running +1 tool /m);
  assertMatch(stdout, /^ +tools: echo$/m);
  assertMatch(stdout, /^ +windows: window:\/\/screen\/a$/m);
  assertMatch(stdout, /^ +documents: dpe:\/\/screen\/report$/m);
  assertMatch(stdout, /^- off +stdio +disabled/m);
  assertStringIncludes(stdout, "No problem found.");
  const json = await runHere("computer", [...args, "--json"]);
  const { servers, problems } = JSON.parse(json.stdout);
  assertEquals(
    servers.map(({ name, state }: Record<string, string>) => [name, state]),
    [["files", "running"], ["screen", "running"], ["off", "disabled"]],
  );
  assertEquals(problems, []);
});

Deno.test("smcp-computer check names each problem with its remedy, and exits 1", async () => {
  const stdio = (command: string, env: Record<string, string> = {}) => ({
    type: "stdio",
    server_parameters: { command, env },
  });
  const key = { type: "promptString", id: "key", description: "" };
  const later = {
    name: "later",
    inputSchema: { type: "object" },
    execution: { taskSupport: "required" },
  };
  await using config = await configFile({
    inputs: [{ ...key, password: true }],
    servers: {
      tasks: fixture({ only: ["meta"], extraTools: [later] }),
      a: fixture({ only: ["echo"] }),
      b: fixture({ only: ["echo"] }),
      dead: fixture({ start: "exit" }),
      gone: stdio("no-such-program"),
      asks: stdio("x", { K: "${input:key}" }),
      typo: stdio("x", { K: "${input:kee}" }),
      away: {
        type: "streamable",
        server_parameters: { url: "http://127.0.0.1:1/mcp" },
      },
      vrl: { ...fixture({ only: ["pid"] }), vrl: "this is no VRL" },
      guarded: fixture({ only: ["fail", "slow"] }, {
        forbidden_tools: ["slwo", "stop", "fial"],
        tool_meta: { fial: { auto_apply: false }, slow: { alias: "stop" } },
      }),
    },
  });
  const args = ["check", "--config", config.file];
  const { code, stdout, stderr } = await runHere("computer", args);
  assertEquals(code, 1);
  const problems = stdout.split("\n").filter((line) =>
    line.startsWith("problem: ")
  );
  const expected = [
    /"tasks": tool "later" is left out: it can be called as a task alone/,
    /"dead".*exited with code 7.*the database is not there; run its command by hand/,
    /"gone".*no such program; install it/,
    /"asks".*input "key" has no value; give one with --input key=VALUE/,
    /"typo".*there is no input "kee"; define it/,
    /"away".*; /,
    /"vrl": Cannot compile the VRL program: syntax error \(line 1, column 6\)$/,
    /More than one tool is named "echo".*give one of them an alias/,
    /"guarded": forbidden_tools names "slwo", which is none of its tools; did you mean "slow"\?/,
    /"guarded": forbidden_tools names "fial", .*did you mean "fail"\?/,
    /"guarded": tool_meta names "fial", .*did you mean "fail"\?/,
  ];
  for (const pattern of expected) {
    const found = problems.filter((line) => pattern.test(line));
    assertEquals(found.length, 1, stdout);
  }
  assertEquals(problems.length, expected.length, stdout);
  assertStringIncludes(stdout, "\n  this is no VRL\n       ^\n");
  assertMatch(stderr, /^error: there are 11 problems; /m);
});

Deno.test("smcp-computer import imports servers of other programs, makes inputs of secrets, and shows none", async () => {
  await using home = await scratch();
  const claude = `${home.path}/.config/Claude`;
  const git = { command: "npx", args: ["-y", "git"], env: { TOKEN: "s3cret" } };
  const web = { url: "https://git.example/mcp" };
  await Deno.mkdir(`${home.path}/.codex`);
  await Deno.writeTextFile(
    `${home.path}/.codex/config.toml`,
    'model = "gpt"\n[mcp_servers.notes]\nurl = "https://notes.example/mcp"\nhttp_headers = { Authorization = "Bearer s3cret" }\n',
  );
  await Deno.writeTextFile(`${home.path}/.claude.json`, "{}");
  const files = {
    [`${claude}/claude_desktop_config.json`]: {
      git,
      files: { command: "npx", args: ["${HOME}"] },
    },
    [`${home.path}/.cursor/mcp.json`]: { git: web, bad: { type: 3 } },
  };
  for (const [file, mcpServers] of Object.entries(files)) {
    await Deno.mkdir(dirname(file), { recursive: true });
    await Deno.writeTextFile(file, JSON.stringify({ mcpServers }));
  }
  const out = `${home.path}/new.json`;
  const run = (...args: string[]) =>
    runMain("computer", ["import", "--out", out, ...args], {
      env: { HOME: home.path, XDG_CONFIG_HOME: "", DENO_DIR: denoDir() },
      cwd: claude,
    });

  const dry = await run("--dry-run");
  assertEquals(dry.code, 0, dry.stderr);
  assertStringIncludes(
    dry.stdout,
    `Would write ${out}: 4 MCP servers, 2 inputs`,
  );
  assertEquals(await Deno.stat(out).catch(() => "none"), "none");

  const { code, stdout, stderr } = await run();
  assertEquals(code, 0, stderr);
  assertStringIncludes(
    stdout,
    "Values not copied, but read from the environment or asked for: env:HOME, TOKEN\n",
  );
  assertMatch(
    stdout,
    /^ {2}git-cursor +streamable +https:\/\/git\.example\/mcp$/m,
  );
  assertMatch(stdout, /✗ .*mcp\.json:\d+:\d+: mcpServers\.bad/);
  assertEquals(stdout.includes("s3cret"), false);
  assertEquals((await Deno.stat(out)).mode! & 0o777, 0o600);
  assertEquals(JSON.parse(await Deno.readTextFile(out)).servers, {
    git: {
      type: "stdio",
      server_parameters: { ...git, env: { TOKEN: "${input:TOKEN}" } },
    },
    notes: {
      type: "streamable",
      server_parameters: {
        url: "https://notes.example/mcp",
        headers: { Authorization: "Bearer ${input:TOKEN}" },
      },
    },
    files: {
      type: "stdio",
      server_parameters: { command: "npx", args: ["${input:env:HOME}"] },
    },
    "git-cursor": { type: "streamable", server_parameters: web },
  });

  const again = await run();
  assertEquals(again.code, 1);
  assertMatch(again.stderr, /new\.json already exists; .*--out.*--force/);
  await Deno.writeTextFile(out, "what others may read");
  await Deno.chmod(out, 0o644);
  const opened = await Deno.open(out);
  assertEquals((await run("--force")).code, 0);
  const seen = await new Response(opened.readable).text();
  assertEquals(seen, "what others may read");
  assertEquals((await Deno.stat(out)).mode! & 0o777, 0o600);
  const json = await run("--force", "--json");
  assertEquals(JSON.parse(json.stdout).found.length, 4);
  assertEquals(json.stdout.includes("s3cret"), false);
});

Deno.test("smcp-computer import keeps MCP servers whose paths are like those of offices", async () => {
  await using home = await scratch();
  const answers = [
    () => new Response("x"),
    () => Response.json({ status: "ok" }),
    () => Response.json({ status: "ok", protocol_version: "2025-11-25" }),
    () => Response.json({ protocol_version: "0.2.0" }, { status: 503 }),
  ];
  await using servers = new AsyncDisposableStack();
  const urls = answers.map((answer) => {
    const server = servers.use(Deno.serve({ port: 0, onListen() {} }, answer));
    return `http://127.0.0.1:${server.addr.port}/mcp/tools`;
  });
  // A public host that is not reached now.
  urls.push("https://api.example.invalid/mcp/readonly");
  const mcpServers = Object.fromEntries(
    urls.map((url, i) => [`s${i}`, { type: "http", url }]),
  );
  const file = `${home.path}/cursor.json`;
  await Deno.writeTextFile(file, JSON.stringify({ mcpServers }));
  const out = `${home.path}/new.json`;
  const args = ["import", "--from", file, "--out", out];
  const { code, stdout, stderr } = await runMain("computer", args);
  assertEquals(code, 0, stderr);
  assertEquals(stdout.match(/^ {2}- skips .*/gm), null);
  const { servers: kept } = JSON.parse(await Deno.readTextFile(out));
  assertEquals(Object.keys(kept), Object.keys(mcpServers));
});

Deno.test("smcp-computer import leaves out offices of A2C-SMCP, with their inputs, and says why; check names one", async () => {
  await using served = await startGateway();
  await using home = await scratch();
  await using other = Deno.serve(
    { port: 0, onListen() {} },
    () => new Response("x"),
  );
  const elsewhere = `http://127.0.0.1:${other.addr.port}/mcp/tools`;
  const file = `${home.path}/cursor.json`;
  const pipe = {
    command: "deno",
    args: ["run", "-A", "/home/you/a2c-smcp/agent/main.ts", "mcp"],
    env: { SMCP_API_KEY: "${env:SMCP_KEY}" },
  };
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      mcpServers: {
        office: { url: `${served.url}` },
        away: { url: "http://127.0.0.1:1/mcp/home?tools=search" },
        pipe,
        elsewhere: { url: elsewhere },
      },
    }),
  );
  const out = `${home.path}/new.json`;
  const args = ["import", "--from", file, "--out", out];
  const { code, stdout, stderr } = await runMain("computer", args);
  assertEquals(code, 0, stderr);
  const reason =
    "is an office of A2C-SMCP, and a Computer must not offer an office to itself";
  assertEquals(stdout.match(/^ {2}- skips .*/gm), [
    `  - skips office: ${served.url} ${reason}`,
    `  - skips away: http://127.0.0.1:1/mcp/home ${reason}`,
    `  - skips pipe: smcp-agent mcp ${reason}`,
  ]);
  assertEquals(JSON.parse(await Deno.readTextFile(out)), {
    servers: {
      elsewhere: { type: "streamable", server_parameters: { url: elsewhere } },
    },
  });

  const json = await runMain("computer", [...args, "--dry-run", "--json"]);
  const [{ skipped }] = JSON.parse(json.stdout).found;
  assertEquals(skipped.map(({ name }: { name: string }) => name), [
    "office",
    "away",
    "pipe",
  ]);

  await Deno.writeTextFile(
    file,
    JSON.stringify({ mcpServers: { office: { url: `${served.url}` } } }),
  );
  const nothing = await runMain("computer", [...args, "--force"]);
  assertEquals(nothing.code, 1);
  assertMatch(nothing.stderr, /contain no MCP servers but offices of A2C-SMCP/);

  const checked = await runMain("computer", ["check", "--config", file]);
  assertEquals(checked.code, 1);
  assertStringIncludes(
    checked.stdout,
    'problem: MCP server "office": it is an office of A2C-SMCP, and in that office',
  );
});

/** Keeps Deno's cache although HOME differs. */
function denoDir(): string {
  return Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
}
