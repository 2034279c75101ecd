import { assertEquals, assertThrows } from "@std/assert";
import { Command, Option } from "commander";
import { join } from "node:path";
import process from "node:process";
import fc from "fast-check";
import {
  EnvFileError,
  formatEnvFile,
  isVariableName,
  loadEnvFile,
  parseEnvFile,
} from "../../../cli/env_file.ts";
import { ownCommand, shellWord } from "../../../cli/own_command.ts";
import { reporting } from "../../../cli/run.ts";
import { pickVariables } from "../../../cli/service/files.ts";
import {
  launchOf,
  recordGiven,
  withVariables,
} from "../../../cli/service/install.ts";
import { scratch } from "../../support/scratch.ts";

/** Parses a command line with variables of the environment, which commander reads itself. */
async function given(
  line: string | readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const args = typeof line === "string" ? line.split(" ") : line;
  Object.assign(process.env, env);
  try {
    const program = reporting(new Command("program"), env);
    const command = program.command("install")
      .addOption(new Option("-c, --config <file>").env("TEST_CONFIG"))
      .addOption(new Option("--most <n>").env("TEST_MOST").default(1))
      .addOption(new Option("--proxy [n]").preset("1").env("TEST_PROXY"))
      .addOption(new Option("--input <x...>"))
      .addOption(new Option("--yes").env("TEST_YES"))
      .addOption(new Option("--skills <dir>").default("d").env("TEST_SKILLS"))
      .addOption(new Option("--no-skills").env("TEST_NO_SKILLS"))
      .addOption(new Option("--no-limits").env("TEST_NO_LIMITS"))
      .addOption(new Option("--url <url>").env("TEST_URL"))
      .addOption(new Option("--key <key>").env("TEST_KEY"))
      .addOption(new Option("--plain"));
    const read = recordGiven(
      command,
      ["--plain"],
      (flag, text) => flag === "--key" ? ["TEST_KEY", text] : undefined,
    );
    command.action(() => {});
    await program.parseAsync(["install", ...args], { from: "user" });
    return { ...read(), command };
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
  }
}

Deno.test("recordGiven() records options of the command line and the environment, but credentials apart", async () => {
  const url = "redis://a:b@c";
  const secrets = { TEST_KEY: "k", TEST_URL: url };
  const rows: [
    line: string | string[],
    env: Record<string, string>,
    args: string[],
    secrets?: Record<string, string>,
  ][] = [
    [[], {}, []],
    [["-c", "-a b.json"], {}, ["--config=-a b.json"]],
    ["--proxy", {}, ["--proxy"]],
    ["--proxy 2", {}, ["--proxy=2"]],
    ["--input a --input b=", {}, ["--input=a", "--input=b="]],
    ["--yes --plain", {}, ["--yes"]],
    ["--most 1", {}, ["--most=1"]],
    ["--skills x", {}, ["--skills=x"]],
    ["--no-skills", {}, ["--no-skills"]],
    [[], { TEST_CONFIG: "a.json" }, ["--config=a.json"]],
    ["--config b.json", { TEST_CONFIG: "a.json" }, ["--config=b.json"]],
    [[], { TEST_YES: "1", TEST_NO_LIMITS: "1" }, ["--yes", "--no-limits"]],
    [[], { TEST_YES: "0", TEST_NO_LIMITS: "0" }, []],
    [[], { TEST_PROXY: "3" }, ["--proxy=3"]],
    [`--key k --url ${url}`, {}, [], secrets],
    [[], secrets, [], secrets],
  ];
  for (const [line, env, args, secrets = {}] of rows) {
    const found = await given(line, env);
    assertEquals(
      [found.args, found.secrets],
      [args, secrets],
      JSON.stringify([line, env]),
    );
  }
});

Deno.test("withVariables() adds the options that are not given", async () => {
  const { command } = await given("--most 2");
  assertEquals(
    withVariables<Record<string, unknown>>(
      { most: "2" },
      command,
      { TEST_MOST: "3", TEST_CONFIG: "kept.json", TEST_YES: "1", OTHER: "x" },
    ),
    { most: "2", config: "kept.json" },
  );
});

Deno.test("pickVariables() keeps variables with a password from the definition", () => {
  const open = { PATH: "/home/me@work/bin", NO_PROXY: "localhost" };
  const secret = { HTTPS_PROXY: "http://me:secret@proxy:1" };
  const others = { SSL_CERT_FILE: "() { :; }", OTHER: "o" };
  assertEquals(
    pickVariables({ ...open, ...secret, ...others }, "/file.env"),
    { open: { ...open, SMCP_ENV_FILE: "/file.env" }, secret },
  );
});

const DENO = "/opt/my tools/deno";
const NODE = "/usr/bin/node";
const BUN = "/home/ada/.bun/bin/bun";
const JSR = "https://jsr.io/@a2c-smcp/sdk/0.2.0/cli/own_command.ts";

/** Starts a service as it was installed: by a script and words, of a module. */
const launch = (
  program: string,
  script: string,
  module: string,
  permissions = ["-A"],
) => {
  const [path = "", role] = script.split(" as ");
  const words = [...(role ? [role] : []), "service", "install"];
  const service = /server/.test(script) ? "smcp-server" : "smcp-computer";
  return launchOf(
    service,
    { execPath: program, argv: [program, path, ...words], module },
    permissions,
  );
};

Deno.test("launchOf() starts this program again, on every runtime and from every source", () => {
  const clone = "file:///home/ada/my%20sdk/cli/own_command.ts";
  const cli = "/lib/node_modules/@a2c-smcp/cli";
  const npm = `file://${cli}/lib/cli/own_command.js`;
  const cached =
    "file:///deno/npm/registry.example/@a2c-smcp/cli/0.2.0/lib/cli/own_command.js";
  const compiled = "file:///tmp/deno-compile-smcp/cli/own_command.ts";
  const sdk = "/home/ada/my sdk";
  const onJsr = "jsr:@a2c-smcp/sdk@0.2.0/computer/main";
  const onNpm = "npm:@a2c-smcp/cli@0.2.0/smcp-computer";
  const rows: [
    program: string,
    module: string,
    script: string,
    ...again: string[],
  ][] = [
    [DENO, JSR, "jsr:@a2c-smcp/sdk/computer/main", onJsr],
    [DENO, JSR, "jsr:@a2c-smcp/sdk as computer", onJsr],
    [DENO, clone, `${sdk}/server/main.ts`, `${sdk}/server/main.ts`],
    [DENO, clone, `${sdk}/main.ts as server`, `${sdk}/server/main.ts`],
    [DENO, cached, "npm:@a2c-smcp/cli/smcp-computer", onNpm],
    [DENO, npm, `${cli}/bin/smcp-computer.js`, `${cli}/lib/computer/main.js`],
    [DENO, "file:///srv/computer.js", "/srv/computer.js", "/srv/computer.js"],
    ["/opt/smcp-computer", compiled, "/opt/smcp-computer"],
    ["/opt/smcp", compiled, "/opt/smcp as computer", "computer"],
    [NODE, npm, "/usr/bin/smcp-computer", "/usr/bin/smcp-computer"],
    [NODE, npm, "/usr/bin/smcp as computer", "/usr/bin/smcp", "computer"],
    [BUN, npm, "/app/.bin/smcp as computer", "/app/.bin/smcp", "computer"],
    [NODE, "file:///srv/server.mjs", "/srv/server.mjs", "/srv/server.mjs"],
  ];
  for (const [program, module, script, ...again] of rows) {
    const run = program === DENO ? ["run", "-A"] : [];
    assertEquals(
      launch(program, script, module),
      [program, ...run, ...again],
      script,
    );
  }
  const permissions = ["--allow-net", "--allow-read"];
  assertEquals(
    launch(DENO, "/sdk/server/main.ts", clone, permissions).slice(1, 4),
    ["run", ...permissions],
  );
});

Deno.test("launchOf() refuses a program that will be deleted", () => {
  const rows = [
    [
      NODE,
      "/home/ada/.npm/_npx/0a1b/node_modules/.bin/smcp-computer",
      'install the commands with "npm install --global @a2c-smcp/cli"',
    ],
    [
      BUN,
      "/tmp/bunx-1000-@a2c-smcp/cli@latest/node_modules/.bin/smcp-computer",
      'install the commands with "bun add --global @a2c-smcp/cli"',
    ],
  ] as const;
  for (const [program, script, remedy] of rows) {
    const module = "file:///x/cli/own_command.js";
    assertThrows(() => launch(program, script, module), Error, remedy);
  }
});

Deno.test("ownCommand() names a command as it is started here: of JSR, a clone, npx, bunx, a binary or a bundle", () => {
  const windows = "file:///C:/Users/ada/AppData/Roaming/npm";
  const npx = "npx -p @a2c-smcp/cli smcp-agent";
  const bunx = "bunx --bun -p @a2c-smcp/cli smcp-agent";
  const own = "node_modules/@a2c-smcp/cli/lib/cli/own_command.js";
  const agents: [program: string, module: string, command: string][] = [
    [DENO, JSR, "deno run -A jsr:@a2c-smcp/sdk@0.2.0/agent/main"],
    [NODE, `file:///app/${own}`, npx],
    [NODE, "file:///app/node_modules/@a2c-smcp/sdk/cli/own_command.js", npx],
    [NODE, `file:///home/ada/.npm/_npx/0a1b/${own}`, npx],
    [NODE, `file:///usr/local/lib/${own}`, "smcp-agent"],
    [NODE, `${windows}/${own}`, "smcp-agent"],
    [BUN, `file:///app/${own}`, bunx],
    [BUN, `file:///home/ada/.bun/install/global/${own}`, "smcp-agent"],
    ["/opt/smcp", "file:///tmp/compiled/cli/own_command.ts", "smcp-agent"],
    [DENO, "file:///computer.js", "smcp-agent"],
  ];
  for (const [program, module, command] of agents) {
    assertEquals(ownCommand("smcp-agent", program, module), command, module);
  }
  const ada = "file:///my%20home/sdk/cli/own_command.ts";
  const eve = "file:///C:/sdk/cli/own_command.ts";
  assertEquals(
    [
      ownCommand("smcp", DENO, JSR),
      ownCommand("smcp-computer", DENO, ada),
      ownCommand("smcp", "C:\\deno.exe", eve),
    ],
    [
      "deno run -A jsr:@a2c-smcp/sdk@0.2.0",
      "deno run -A '/my home/sdk/computer/main.ts'",
      "deno run -A C:/sdk/mod.ts",
    ],
  );
});

Deno.test("shellWord() quotes what a shell would take apart", () => {
  const words = ["a.b/c", "it's here", ""];
  assertEquals(words.map(shellWord), ["a.b/c", `'it'\\''s here'`, "''"]);
});

Deno.test("parseEnvFile() reads what formatEnvFile() writes, whatever it is", () => {
  const names = fc.string({ unit: "binary", maxLength: 20 })
    .filter(isVariableName);
  const values = fc.string({ unit: "binary", maxLength: 40 });
  fc.assert(
    fc.property(fc.dictionary(names, values), (variables) => {
      assertEquals(
        parseEnvFile(formatEnvFile(["a comment"], variables), "file"),
        { ...variables },
      );
    }),
  );
});

Deno.test("parseEnvFile() reads what people write", () => {
  assertEquals(
    parseEnvFile(
      [
        "# a comment",
        "",
        "SMCP_API_KEY = abc=def ",
        'SMCP_API_KEYS=[{"key": "k", "id": "me"}]',
        'SMCP_JWT_SECRET="a \\"b\\"\\n"\r',
        "EMPTY=",
      ].join("\n"),
      "file",
    ),
    {
      SMCP_API_KEY: "abc=def",
      SMCP_API_KEYS: '[{"key": "k", "id": "me"}]',
      SMCP_JWT_SECRET: 'a "b"\n',
      EMPTY: "",
    },
  );
});

Deno.test("parseEnvFile() refuses other lines without their values", () => {
  const rows = [
    ["secret", "file:1: expected NAME=VALUE"],
    ["\n=secret", "file:2: expected NAME=VALUE"],
    ["export A=secret", "file:1: expected NAME=VALUE"],
    ["A=1\nA=2", "file:2: A is there twice; remove one"],
    ['A="secret', "file:1: the value of A begins with a double quote"],
  ] as const;
  for (const [text, says] of rows) {
    const { message } = assertThrows(
      () => parseEnvFile(text, "file"),
      EnvFileError,
      says,
    );
    assertEquals(message.includes("secret"), false);
  }
});

Deno.test("loadEnvFile() adds missing variables, and refuses a file that others can use, and one that is missing", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "file.env");
  const env: Record<string, string | undefined> = {
    SMCP_ENV_FILE: file,
    B: "mine",
  };
  const load = () => loadEnvFile(env);
  assertThrows(load, EnvFileError, "make it, or leave the variable out");
  await Deno.writeTextFile(file, "A=1\nB=2\n");
  for (const mode of [0o640, 0o604, 0o620, 0o610]) {
    await Deno.chmod(file, mode);
    assertThrows(load, EnvFileError, `chmod 600 "${file}"`);
  }
  await Deno.chmod(file, 0o600);
  load();
  assertEquals(env, { SMCP_ENV_FILE: file, A: "1", B: "mine" });
});
