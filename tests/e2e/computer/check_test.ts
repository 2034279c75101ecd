import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { runHere, runMain } from "../../support/command.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { resourceServers } from "../../support/computer/resource_servers.ts";

async function configFile(content: unknown) {
  const directory = await Deno.makeTempDir();
  const file = `${directory}/computer.json`;
  await Deno.writeTextFile(
    file,
    typeof content === "string" ? content : JSON.stringify(content),
  );
  return {
    directory,
    file,
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

Deno.test({
  name:
    "smcp-computer check lists what each MCP server offers, and exits 0 without problems",
  timeout: 120_000,
}, async () => {
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

Deno.test({
  name: "smcp-computer check names each problem with its remedy, and exits 1",
  timeout: 120_000,
}, async () => {
  await using config = await configFile({
    inputs: [{
      type: "promptString",
      id: "key",
      description: "",
      password: true,
    }],
    servers: {
      a: fixture({ only: ["echo"] }),
      b: fixture({ only: ["echo"] }),
      dead: fixture({ start: "exit" }),
      gone: {
        type: "stdio",
        server_parameters: { command: "no-such-program" },
      },
      asks: {
        type: "stdio",
        server_parameters: { command: "x", env: { K: "${input:key}" } },
      },
      typo: {
        type: "stdio",
        server_parameters: { command: "x", env: { K: "${input:kee}" } },
      },
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
  const { code, stdout, stderr } = await runHere("computer", [
    "check",
    "--config",
    config.file,
  ]);
  assertEquals(code, 1);
  const problems = stdout.split("\n").filter((line) =>
    line.startsWith("problem: ")
  );
  const expected = [
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
    assertEquals(
      problems.filter((line) => pattern.test(line)).length,
      1,
      stdout,
    );
  }
  assertEquals(problems.length, expected.length, stdout);
  assertStringIncludes(stdout, "\n  this is no VRL\n       ^\n");
  assertMatch(stderr, /^error: there are 10 problems; /m);
});

Deno.test({
  name:
    "smcp-computer import imports servers of other programs, names values that may be secret, and shows none",
  timeout: 120_000,
}, async () => {
  await using home = await configFile("{}");
  const claude = `${home.directory}/.config/Claude`;
  await Deno.mkdir(claude, { recursive: true });
  await Deno.mkdir(`${home.directory}/.cursor`);
  await Deno.writeTextFile(
    `${claude}/claude_desktop_config.json`,
    JSON.stringify({
      mcpServers: {
        git: { command: "npx", args: ["-y", "git"], env: { TOKEN: "s3cret" } },
        files: { command: "npx", args: ["${HOME}"] },
      },
    }),
  );
  await Deno.writeTextFile(
    `${home.directory}/.cursor/mcp.json`,
    JSON.stringify({
      mcpServers: { git: { url: "https://git.example/mcp" }, bad: { type: 3 } },
    }),
  );
  const out = `${home.directory}/new.json`;
  const run = (...args: string[]) =>
    runMain("computer", ["import", "--out", out, ...args], {
      env: { HOME: home.directory, XDG_CONFIG_HOME: "", DENO_DIR: denoDir() },
      cwd: claude,
    });

  const dry = await run("--dry-run");
  assertEquals(dry.code, 0, dry.stderr);
  assertStringIncludes(
    dry.stdout,
    `Would write ${out}: 3 MCP servers, 1 input`,
  );
  assertEquals(await Deno.stat(out).catch(() => "none"), "none");

  const { code, stdout, stderr } = await run();
  assertEquals(code, 0, stderr);
  assertStringIncludes(
    stdout,
    "! imports values of git that may be secret: env.TOKEN",
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
      server_parameters: {
        command: "npx",
        args: ["-y", "git"],
        env: { TOKEN: "s3cret" },
      },
    },
    files: {
      type: "stdio",
      server_parameters: { command: "npx", args: ["${input:env:HOME}"] },
    },
    "git-cursor": {
      type: "streamable",
      server_parameters: { url: "https://git.example/mcp" },
    },
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
  assertEquals(JSON.parse(json.stdout).found.length, 2);
  assertEquals(json.stdout.includes("s3cret"), false);
});

/** Keeps Deno's cache although HOME differs. */
function denoDir(): string {
  return Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
}
