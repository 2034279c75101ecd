import { assert, assertEquals } from "@std/assert";
import { Ajv } from "ajv";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { generate } from "selfsigned";
import config from "../../deno.json" with { type: "json" };
import schema from "../../docs/config.schema.json" with { type: "json" };
import { parseComputerConfig } from "../../computer/config/parse_config.ts";
import { parseApiKeys } from "../../server/mod.ts";
import {
  DENO_SERVERS,
  NPX_SERVERS,
  withVersions,
} from "../support/computer/reference_servers.ts";
import { ELSEWHERE } from "../pages/elsewhere.ts";
import { NOT_RUN } from "../pages/not_run.ts";
import { SCENES } from "../pages/scenes/mod.ts";
import {
  blockOf,
  isNotRun,
  linesOf,
  RUNNABLE,
} from "../pages/support/scene.ts";
import { scratch } from "../support/scratch.ts";
import { codeBlocks, otherBlocks, readPages } from "./support/blocks.ts";
import { commandsOf, mistakeIn } from "./support/commands.ts";
import { CLI_NAME } from "../../tools/npm/commands_package.ts";
import { STILL_OPTIONAL } from "../../tools/npm/dependencies.ts";
import { rolePackage, ROLES } from "../../tools/npm/role_packages.ts";
import { run } from "../../tools/process.ts";
import { complaintOf, isInstalled, outputOf } from "./support/tools.ts";

const root = new URL("../../", import.meta.url);
const pages = await readPages();
const blocks = await codeBlocks();
const others = await otherBlocks();
const scripts = blocks.filter(({ language }) => language === "sh");
const examples = (name: string) =>
  blocks.filter(({ example }) => example === name);

Deno.test("the shell scripts of the documentation parse", async () => {
  assert(scripts.length > 10);
  for (const { at, code } of scripts) {
    assertEquals(await complaintOf("bash", ["-n", "-c", code]), "", at);
  }
});

Deno.test({
  name:
    "the commands of the documentation are taken by the commands themselves",
  timeout: 600_000,
  fn: async () => {
    const mistakes: string[] = [];
    for (const { at, code } of scripts) {
      const commands = await commandsOf(code);
      if (commands.length === 0) mistakes.push(`${at}: starts nothing`);
      for (const command of commands) {
        const mistake = await mistakeIn(command);
        if (mistake !== undefined) mistakes.push(`${at}: ${mistake}`);
      }
    }
    assertEquals(mistakes, []);
  },
});

Deno.test({
  name: "mistakeIn() finds what a command does not take, and unknown commands",
  timeout: 120_000,
  fn: async () => {
    const script = `
      SMCP_OFFICE=x deno run -A agent/main.ts members
      A=b smcp-server --prot 1
      fly away
      deno run -A jsr:@a2c-smcp/sdk/agent/main fly --office x
      npx -y -p a2c.tgz smcp-agent tools
      smcp-server --port "$PORT"
      deno task nothing
      deno run --allow-nothing server/main.ts`;
    const found: (string | undefined)[] = [];
    for (const command of await commandsOf(script)) {
      found.push(await mistakeIn(command));
    }
    assertEquals(
      found.map((text) => text?.replace(/ends with /, "").split("\n")[0]),
      [
        undefined,
        `"smcp-server --prot 1" 2: error: unknown option '--prot' (Did you mean --port?)`,
        `what is "fly away"?`,
        `"deno run -A jsr:@a2c-smcp/sdk/agent/main fly --office x" 2: error: unknown command 'fly'; the commands are members, tools, call, desktop, resources, docs, read, prompts, prompt, instructions, skills, skill, put, config, watch, mcp, completion`,
        `"npx -y -p a2c.tgz smcp-agent tools" 2: error: required option '--office <office>' not specified; give it, or set SMCP_OFFICE in the environment`,
        `"smcp-server --port " 2: error: option '--port <number>' argument '' is invalid. Expected an integer from 0 to 65535.`,
        `"deno task nothing": there is no such task`,
        `"deno run --allow-nothing server/main.ts" 1: error: unexpected argument '--allow-nothing' found`,
      ],
    );
  },
});

/** What makes sure that a block of a language is right. */
const CHECKED: Readonly<Record<string, readonly string[]>> = {
  json: [
    "api-keys",
    "claude-desktop",
    "configuration",
    "links",
    "mcp-client", // mcp_page_test.ts
    "server-json", // mcp_page_test.ts
    "version-mismatch", // references_test.ts
  ],
  toml: ["mcp-client"],
};

/** `deno task check:snippets`, the tests above, and transcript_test.ts; a picture is right as it is. */
const WITHOUT_NAME = ["ts", "sh", "console", "text"];

Deno.test("every code block of the documentation is one that is checked", () => {
  const unchecked = blocks.filter(({ language, example, isForeign }) =>
    (isForeign || !WITHOUT_NAME.includes(language)) &&
    !CHECKED[language]?.includes(example ?? "")
  );
  assertEquals(unchecked.map(({ at }) => at), []);
});

Deno.test("no command of the pages asks a registry for this package, which is in none", () => {
  const asking = [...blocks, ...others].filter(({ language, code }) =>
    ["sh", "console"].includes(language) &&
    /jsr:@a2c-smcp\/|(npm (install|i)|npx|bunx) [^\n]*@a2c-smcp\//.test(code)
  );
  assertEquals(asking.map(({ at }) => at), []);
});

Deno.test("what a reader has run before a block is on the pages", () => {
  const shown = [...pages.values()].join("\n");
  const before = SCENES.flatMap(({ before = [] }) => before)
    .map((each) => typeof each === "string" ? each : each[0]);
  assert(before.length > 10);
  assertEquals(before.filter((line) => !shown.includes(line)), []);
});

Deno.test("what a reader has beside what the pages say has a reason", () => {
  for (const { has, prepared } of SCENES) {
    assert(prepared === undefined || prepared.because.length > 20, has);
  }
});

Deno.test("the configurations of the documentation are valid", () => {
  const found = examples("configuration");
  assert(found.length > 1);
  const conforms = new Ajv({ strict: false }).compile(schema);
  for (const { at, code } of found) {
    const json = JSON.parse(code);
    parseComputerConfig(json, at);
    assert(conforms(json), `${at}: ${JSON.stringify(conforms.errors)}`);
    // What an editor completes the file by is in the package.
    const [, path] = /sdk\/(.*)$/.exec(String(json.$schema)) ?? [];
    assertEquals(path ?? "docs/config.schema.json", "docs/config.schema.json");
  }
});

Deno.test("the pages name the reference servers that are fetched for them", () => {
  for (const [page, text] of pages) {
    for (
      const [name] of withVersions(text).matchAll(
        /@modelcontextprotocol\/(?!(?:sdk|server|client|inspector|ext-tasks)\b(?!-))[^\s"`\\]+/g,
      )
    ) {
      assert(
        [...NPX_SERVERS, ...DENO_SERVERS].includes(name),
        `${page}: ${name}`,
      );
    }
  }
});

Deno.test({
  name: "every page is in the package, with the schema and what the pages show",
  timeout: 240_000,
  fn: async () => {
    await using folder = await scratch();
    const tarball = join(folder.path, "package.tgz");
    // Without declarations, which take most of the time of packing.
    const flags = ["--allow-dirty", "--allow-slow-types", "--output", tarball];
    await run("deno", ["pack", ...flags], fileURLToPath(root));
    const { output } = await outputOf("tar", ["-tzf", tarball]);
    const packed = output.split("\n").map((path) =>
      path.replace("package/", "")
    );
    const linked = [...pages].flatMap(([page, text]) =>
      [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path = ""]) =>
        posix.join(posix.dirname(page), path)
      )
    );
    assert(linked.includes("docs/operators.md"));
    const wanted = [...pages.keys(), ...linked, "docs/config.schema.json"];
    assertEquals(wanted.filter((path) => !packed.includes(path)), []);
    assert(config.publish.include.includes("docs/")); // JSR has them too
  },
});

Deno.test("the documentation names every npm package that pack writes, and what none of them brings", () => {
  const page = pages.get("docs/getting-started.md") ?? "";
  const named = [...page.matchAll(/`([^`\n]+)`/g)].map(([, text]) => text);
  assertEquals(
    [config.name, CLI_NAME, ...ROLES.map(rolePackage), ...STILL_OPTIONAL]
      .filter((name) => !named.includes(name)),
    [],
  );
});

Deno.test("the API keys of the documentation are valid", () => {
  const lengths = examples("api-keys").map(({ code }) =>
    parseApiKeys(code).length
  );
  assertEquals(lengths, [2]);
});

const runnable = [...blocks, ...others]
  .filter(({ language }) => RUNNABLE.includes(language));
const pageOf = (at: string) => at.slice(0, at.lastIndexOf(":"));

Deno.test("every command and program of the pages is run by exactly one test, or is listed", async () => {
  const times = new Map(runnable.map(({ at }) => [at, 0]));
  const claims = [
    ...SCENES.flatMap(({ page, has, covers = [] }) =>
      [has, ...covers].map((has) => ({ page, has }))
    ),
    ...ELSEWHERE,
  ];
  for (const claim of claims) {
    const { at } = await blockOf(claim);
    times.set(at, (times.get(at) ?? 0) + 1);
  }
  for (const { at, code, language } of runnable) {
    const isListed = language === "sh" &&
      linesOf(code).every((line) => isNotRun(pageOf(at), line));
    if (isListed) times.set(at, (times.get(at) ?? 0) + 1);
  }
  assertEquals([...times].filter(([, count]) => count !== 1), []);
});

Deno.test("what cannot be run is on the pages, once in the list, and says why", () => {
  for (const { page, line, reason } of NOT_RUN) {
    const shown = runnable.filter(({ at, code }) =>
      pageOf(at) === page && linesOf(code).includes(line)
    );
    assertEquals(shown.length, 1, `${page}: ${line}`);
    assert(reason.length > 20, line);
  }
  const keys = NOT_RUN.map(({ page, line }) => `${page}: ${line}`);
  assertEquals(keys.length, new Set(keys).size);
});

Deno.test("the tests that run blocks elsewhere are there", async () => {
  for (const { file, test } of ELSEWHERE) {
    const text = await Deno.readTextFile(new URL(`tests/${file}`, root));
    assert(text.includes(`"${test}"`), `${file}: ${test}`);
  }
});

/** A test of a file of deploy/ with a tool that may not be here. */
async function testWith(
  tool: string,
  file: string,
  test: (code: string, folder: string) => Promise<void>,
): Promise<void> {
  const ignore = !await isInstalled(tool);
  if (ignore) console.log(`SKIPPED: ${tool} is not installed`);
  Deno.test({
    name: `${tool} takes deploy/${file}`,
    ignore,
    fn: async () => {
      await using folder = await scratch();
      const path = new URL(`deploy/${file}`, root);
      await test(await Deno.readTextFile(path), folder.path);
    },
  });
}

await testWith("nginx", "balancers/nginx.conf", async (code, folder) => {
  const { cert, private: key } = await generate();
  await Deno.writeTextFile(join(folder, "cert.pem"), cert);
  await Deno.writeTextFile(join(folder, "key.pem"), key);
  const file = join(folder, "nginx.conf");
  const here = code.replaceAll("/etc/ssl/smcp/", `${folder}/`)
    .replace("listen 443", "listen 8443"); // which anybody may
  await Deno.writeTextFile(
    file,
    `pid ${folder}/pid; error_log stderr; events {} http { access_log off;\n${here}}`,
  );
  assertEquals(await complaintOf("nginx", ["-t", "-q", "-c", file]), "");
});

await testWith("caddy", "balancers/Caddyfile", async (code, folder) => {
  const file = join(folder, "Caddyfile");
  await Deno.writeTextFile(file, code);
  const args = ["validate", "--config", file, "--adapter", "caddyfile"];
  assertEquals(await complaintOf("caddy", args), "");
});

await testWith("promtool", "monitoring/alerts.yaml", async (code, folder) => {
  const file = join(folder, "alerts.yaml");
  await Deno.writeTextFile(file, code);
  assertEquals(await complaintOf("promtool", ["check", "rules", file]), "");
});

await testWith(
  "systemd-analyze",
  "smcp-server.service",
  async (code, folder) => {
    const file = join(folder, "smcp-server.service");
    // It looks for the program, which is not installed here.
    const program = "/usr/local/bin/smcp-server";
    await Deno.writeTextFile(file, code.replace(program, Deno.execPath()));
    // It succeeds whatever it ignores; the machine's own units are not ours.
    const { output } = await outputOf("systemd-analyze", [
      "verify",
      "--man=no",
      file,
    ]);
    assertEquals(output.split("\n").filter((line) => line.includes(file)), []);
    const [, start = ""] = /^ExecStart=(.*)$/m.exec(code) ?? [];
    const [command] = await commandsOf(start.replace(program, "smcp-server"));
    assert(command);
    assertEquals(await mistakeIn(command), undefined);
  },
);
