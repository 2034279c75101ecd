import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { PACKAGE_VERSION } from "../../../cli/version.ts";
import config from "../../../deno.json" with { type: "json" };
import { runFile } from "../../support/command.ts";
import { scratch } from "../../support/scratch.ts";
import { modulesOf } from "../../support/modules.ts";

const run = (file: string, ...args: string[]) => runFile(file, args);

const ROLES = ["server", "computer", "agent"] as const;

/** Command lines that exit without a signal. */
const LINES: readonly (readonly [typeof ROLES[number], ...string[]])[] = [
  ["server", "--version"],
  ["server", "--prot", "1"],
  ["server", "completion", "zsh"],
  ["server", "service", "install", "--help"],
  ["computer"],
  ["computer", "run", "--help"],
  ["computer", "help", "check"],
  ["agent", "members", "--office", "demo", "--url", "http://127.0.0.1:1"],
];

for (const [role, ...args] of LINES) {
  const line = [role, ...args].join(" ");
  Deno.test(`smcp ${line} does what smcp-${line} does`, async () => {
    assertEquals(
      await run("main.ts", role, ...args),
      await run(`${role}/main.ts`, ...args),
    );
  });
}

Deno.test("every command prints the versions of package, protocol and runtime", async () => {
  assertEquals(PACKAGE_VERSION, config.version);
  for (
    const file of [
      "main.ts",
      "mod.ts",
      ...ROLES.map((role) => `${role}/main.ts`),
    ]
  ) {
    assertEquals(await run(file, "--version"), {
      code: 0,
      stdout:
        `@a2c-smcp/sdk ${config.version}, A2C-SMCP 0.2.0, Deno ${Deno.version.deno}\n`,
      stderr: "",
    }, file);
  }
});

Deno.test("smcp --help lists its commands with the summaries of their help, which smcp help prints too", async () => {
  const { code, stdout } = await run("main.ts", "--help");
  assertEquals(code, 0);
  for (const name of [...ROLES, "up", "clients"]) {
    const own = await run("main.ts", name, "--help");
    const [, summary = ""] = own.stdout.split("\n\n");
    assertMatch(stdout, new RegExp(`^  ${name} .*\\b${summary}$`, "m"));
    if (ROLES.some((role) => role === name)) {
      assertStringIncludes(own.stdout, "Exit codes", name);
    }
    assertEquals(await run("main.ts", "help", name), own);
  }
  const up = await run("mod.ts", "up", "--help");
  assertMatch(up.stdout, /^Usage: smcp up \[options\]$/m);
  assertEquals(await run("main.ts", "up", "--help"), up);
});

Deno.test("smcp up with a configuration that is missing or invalid starts and prints nothing but the error", async () => {
  await using folder = await scratch();
  await Deno.writeTextFile(`${folder.path}/invalid.json`, "{");
  for (const name of ["missing.json", "invalid.json"]) {
    const file = `${folder.path}/${name}`;
    const { code, stdout, stderr } = await run(
      "main.ts",
      ...["up", "--port", "0", "--config", file],
    );
    assertEquals([code, stdout], [1, ""]);
    assertMatch(stderr, /^error: .*\n$/);
  }
});

Deno.test("smcp clients prints for each MCP client what it reads, whatever the office is called", async () => {
  for (const office of ["home", "my office", `it's "ours"`, "a$b"]) {
    const url = "http://127.0.0.1:9000";
    const { code, stdout } = await run(
      "main.ts",
      ...["clients", "--url", url, "--office", office, "--protocol", "0.4"],
    );
    assertEquals(code, 0);
    const own = `${url}/mcp/${encodeURIComponent(office)}`;
    const [cursor, code_, windsurf, claude] = stdout.split("\n")
      .filter((line) => /^ {2}\{/.test(line)).map((line) => JSON.parse(line));
    assertEquals(cursor, { mcpServers: { office: { url: own } } });
    assertEquals(code_, { servers: { office: { type: "http", url: own } } });
    assertEquals(windsurf, { mcpServers: { office: { serverUrl: own } } });
    const { command, args } = claude.mcpServers.office;
    assertEquals(command, "deno");
    const flags = ["--url", url, "--office", office, "--protocol", "0.4"];
    assertEquals(args.slice(-7), ["mcp", ...flags]);
    assertStringIncludes(stdout, `\n  url = ${JSON.stringify(own)}\n`);
    assertStringIncludes(stdout, `agent.join(${JSON.stringify(office)})`);
    const [, line = ""] = /^ {2}(claude mcp add .*)$/m.exec(stdout) ?? [];
    const { stdout: words } = await new Deno.Command("sh", {
      args: ["-c", line.replace("claude", "printf '%s\\n'")],
    }).output();
    assertEquals(new TextDecoder().decode(words).split("\n").at(-2), own);
  }
});

Deno.test("smcp clients prints where clients put a key, or that they sign in", async () => {
  const text = async (...flags: string[]) =>
    (await run("main.ts", "clients", ...flags)).stdout;
  const own = "http://127.0.0.1:8787/mcp/home";
  const authorization = "Bearer KEY";
  const keyed = await text("--access", "key");
  for (const line of keyed.split("\n").filter((line) => /"url"/.test(line))) {
    const [config] = Object.values(JSON.parse(line));
    assertEquals(Object(config).office.headers, {
      Authorization: authorization,
    });
  }
  assertStringIncludes(
    keyed,
    `claude mcp add --transport http office ${own} --header "Authorization: Bearer $SMCP_API_KEY"`,
  );
  assertStringIncludes(keyed, 'bearer_token_env_var = "SMCP_API_KEY"');
  assertStringIncludes(keyed, '"env":{"SMCP_API_KEY":"KEY"}');
  const publicUrl = "https://smcp.example.com";
  const signedIn = await text(
    ...["--access", "sign-in", "--public-url", publicUrl],
  );
  assertStringIncludes(
    signedIn,
    `office ${publicUrl}/mcp/home && claude mcp login office`,
  );
  assertMatch(signedIn, /ChatGPT, as a connector:\n {2}https:\S+\/mcp$/m);
  assertEquals(signedIn.includes(authorization), false);
  const open = await text();
  for (const word of ["KEY", "login", "claude.ai"]) {
    assertEquals(open.includes(word), false, word);
  }
});

Deno.test("smcp suggests a similar command, and exits 2", async () => {
  const { code, stderr } = await run("main.ts", "compter", "run");
  assertEquals(code, 2);
  assertEquals(
    stderr,
    "error: unknown command 'compter' (Did you mean computer?)\n",
  );
  assertEquals((await run("main.ts")).code, 2);
});

Deno.test("smcp completion bash completes roles, their commands and their flags", async () => {
  const { stdout: script } = await run("main.ts", "completion", "bash");
  const complete = async (...words: string[]) => {
    const { stdout, stderr } = await new Deno.Command("bash", {
      args: [
        "-c",
        `${script}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _smcp
printf '%s\\n' "\${COMPREPLY[@]}"`,
        "bash",
        "smcp",
        ...words,
      ],
    }).output();
    assertEquals(new TextDecoder().decode(stderr), "");
    return new TextDecoder().decode(stdout).trim().split("\n");
  };
  const rows: [words: string, found: string[]][] = [
    ["a", ["agent"]],
    ["", [...ROLES, "up", "clients", "completion", "--version", "--help"]],
    ["agent c", ["call", "config", "completion"]],
    ["agent call --ti", ["--timeout"]],
    ["computer run --wat", ["--watch"]],
    ["server --ws-engine ", ["fast", "stock"]],
    ["computer service install --wat", ["--watch"]],
    ["server service r", ["remove"]],
    ["up --off", ["--office"]],
    ["server completion f", ["fish"]],
  ];
  for (const [words, found] of rows) {
    assertEquals(await complete(...words.split(" ")), found, words);
  }
});

for (const shell of ["zsh", "fish"]) {
  Deno.test(`smcp completion ${shell} has the flags of every command`, async () => {
    const { stdout } = await run("main.ts", "completion", shell);
    for (
      const flag of ["ws-engine", "history-values", "follow", "port", "print"]
    ) {
      assertStringIncludes(stdout, flag);
    }
  });
}

Deno.test("smcp loads no role before it is called with one", async () => {
  const modules = await modulesOf("main.ts", { dynamic: false });
  const roles = modules.filter((name) =>
    /^(agent|computer|server)\//.test(name)
  );
  assertEquals(roles, []);
});

Deno.test("smcp agent loads nothing of server or computer, and no Socket.IO server", async () => {
  const modules = await modulesOf("agent/cli/command.ts", { dynamic: true });
  assertEquals(
    modules.filter((name) =>
      /^(server|computer)\/|^npm:\/?(socket\.io|engine\.io|hono)@/.test(name)
    ),
    [],
  );
  // Would be found if it existed.
  const server = await modulesOf("server/cli/command.ts", { dynamic: true });
  assertEquals(server.some((name) => /^npm:\/?socket\.io@/.test(name)), true);
});

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Imports an entrypoint where the functions of a new runtime are missing, as in Node 20. */
async function importInOldRuntime(file: string) {
  const script = `
    delete Promise.withResolvers;
    process.exitCode = await import(${JSON.stringify(`file://${root}${file}`)})
      .then(() => 0, (error) => (console.error(String(error)), 3));
  `;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", "--no-lock", script],
    cwd: root,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  });
  const { code, stderr } = await child.output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

const entries = Object.values(config.exports)
  .filter((file) => file.endsWith("mod.ts"));

for (const file of entries) {
  const needs = file !== "./protocol/mod.ts";
  Deno.test(`on a runtime that is too old, the import of ${file} ${needs ? "names the versions that are needed" : "works"}`, async () => {
    const { code, stderr } = await importInOldRuntime(file);
    if (!needs) return assertEquals([code, stderr], [0, ""]);
    assertEquals(code, 3, stderr);
    assertMatch(
      stderr,
      /^Error: Cannot load @a2c-smcp\/sdk: it needs Node 22\.12 or later, Deno 2\.9 .*, and this is Node v[\d.]+\n$/,
    );
  });
}
