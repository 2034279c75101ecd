/**
 * The configurations of `docs/mcp.md`: the addresses in them serve an MCP client, and the commands
 * are ones that this package has. `docs/agent-builders.md` starts every program with a framework of
 * `examples/mcp`, which tests/mcp runs, and installs the versions that are installed there.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { officeEntry } from "../../computer/config/office_entries.ts";
import { readConfig } from "../../computer/config/parse_config.ts";
import { mcpGateway } from "../../mcp/mod.ts";
import { apiKeys } from "../../server/mod.ts";
import { startOffice } from "../../testing/mod.ts";
import { fixture } from "../support/computer/mcp_servers.ts";
import { CLIENTS } from "../support/mcp/clients.ts";
import { codeBlocks, exampleCode } from "./support/blocks.ts";
import { commandsOf, mistakeIn } from "./support/commands.ts";

/** How a client reaches the office, as its configuration says. */
interface Entry {
  readonly url?: string;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const blocks = (await codeBlocks())
  .filter(({ at }) => at.startsWith("docs/mcp.md"));
const configurations = blocks.filter(({ example }) => example === "mcp-client");
const entries = configurations.map(
  ({ at, code, language }): [string, Entry] => {
    if (language === "toml") return [at, entryOf(code)];
    const { mcpServers, servers } = JSON.parse(code);
    return [at, (mcpServers ?? servers).office];
  },
);

/** Codex's table: its strings and lists are as in JSON. */
function entryOf(toml: string): Entry {
  const [table, ...lines] = toml.trimEnd().split("\n");
  assertEquals(table, "[mcp_servers.office]");
  return Object.fromEntries(
    lines.map((line) => line.split(" = ", 2))
      .map(([name, value]) => [name, JSON.parse(value ?? "")]),
  );
}

/** The addresses that the page tells to paste, wherever in it. */
const addresses = new Set(
  blocks.flatMap(({ code }) =>
    code.match(/http:\/\/127\.0\.0\.1:8787\/mcp\/[^\s"]*/g) ?? []
  ),
);

Deno.test("import recognizes every configuration of the page as an office", () => {
  assert(entries.length > 0);
  const context = { workspaceFolder: "/", userHome: "/", pathSeparator: "/" };
  for (const [at, office] of entries) {
    const { config } = readConfig({ mcpServers: { office } }, context);
    const [server] = config.servers;
    assert(server && officeEntry(server), at);
  }
});

Deno.test("every address of the page for MCP clients serves them", async () => {
  const servers = { fix: fixture({ only: ["echo"] }) };
  await using office = await startOffice({
    officeId: "home",
    server: { gateway: mcpGateway() },
    computers: { laptop: { servers } },
  });
  await office.agent.leave();
  assert(addresses.size > 0);
  for (const address of addresses) {
    const { pathname, search, searchParams } = new URL(address);
    const echo = searchParams.has("computer") ? "echo" : "laptop__echo";
    for (const connect of Object.values(CLIENTS)) {
      await using client = await connect({
        url: new URL(pathname + search, office.url),
      });
      const tools = await client.tools();
      assertEquals(tools.map(({ name }) => name), [echo], address);
      await client.terminate();
    }
  }
});

Deno.test({
  name: "every command of the page for MCP clients is one that the package has",
  timeout: 240_000,
  fn: async () => {
    const scripts = blocks.filter(({ language }) => language === "sh");
    const added = (await commandsOf(scripts.map(({ code }) => code).join("\n")))
      .map(({ words, env }) => ({
        words: words.slice(words.indexOf("--") + 1),
        env,
        isAdded: words[0] === "claude" && words.includes("--"),
      }))
      .filter(({ isAdded }) => isAdded);
    const configured = entries.flatMap(([, { command, args = [], env = {} }]) =>
      command === undefined ? [] : [{ words: [command, ...args], env }]
    );
    assertEquals([added.length, configured.length], [1, 3]);
    for (const command of [...added, ...configured]) {
      assertEquals(await mistakeIn(command), undefined);
    }
  },
});

Deno.test("every configuration of the page for MCP clients says how to reach the office", () => {
  for (const [at, { url, command }] of entries) {
    assertEquals([url, command].filter(Boolean).length, 1, at);
    if (url !== undefined) assert(addresses.has(url), at);
  }
});

const folder = new URL("../../examples/mcp/", import.meta.url);
const textOf = (file: string) => Deno.readTextFile(new URL(file, folder));

const programs = [...Deno.readDirSync(folder)].map(({ name }) => name)
  .filter((name) => /\.(ts|py)$/.test(name)).sort();

/** What `npm install` and `pip install` get to install what a folder needs. */
async function requirements(): Promise<string[]> {
  const { dependencies } = JSON.parse(await textOf("package.json"));
  const [direct = ""] = (await textOf("requirements.txt")).split("\n\n");
  return [
    ...Object.entries(dependencies).map((pair) => pair.join("@")),
    ...direct.split("\n").filter((line) => /^\w/.test(line)),
  ].sort();
}

Deno.test("the page for builders of agents installs what each program with a framework imports", async () => {
  const scripts = (await codeBlocks()).filter(({ at, language }) =>
    at.startsWith("docs/agent-builders.md") && language === "sh"
  );
  const installed: string[] = [];
  const started: string[] = [];
  for (const { at, code } of scripts) {
    const commands = await commandsOf(code);
    const install = commands.find(({ words }) => words[1] === "install");
    if (install === undefined) continue;
    const packages = install.words.slice(2);
    installed.push(...packages);
    const [file = ""] = commands.flatMap(({ words }) =>
      programs.includes(words[1] ?? "") ? [words[1]] : []
    );
    started.push(file);
    const imports = (await textOf(file)).matchAll(
      /from "((?:@[^/"]+\/)?[^/"]+)|^from (\w+) import/gm,
    );
    const names = [...imports].map(([, npm, python]) => npm ?? python)
      .filter((name) => name !== "node:process");
    assertEquals(
      [...new Set(names)].sort(),
      packages.map((name) => name.replace(/(?<=.)(@|==)[\d.]+$/, "")).sort(),
      at,
    );
  }
  assertEquals(started.sort(), programs);
  assertEquals(installed.sort(), await requirements());
});

const GATEWAY_KEY = { key: "ann-key-0123456789" };

Deno.test("the page's server.json is one that the registry of MCP takes, and leads to an office", async () => {
  const file = JSON.parse(await exampleCode("server-json"));
  assertMatch(
    file.$schema,
    /\/schemas\/\d{4}-\d\d-\d\d\/server\.schema\.json$/,
  );
  // As the schema of 2025-12-11 has it.
  assertMatch(file.name, /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
  for (const [text, most] of [[file.title, 100], [file.description, 100]]) {
    assert(text.length > 0 && text.length <= most, text);
  }
  assertMatch(file.version, /^\d+\.\d+\.\d+$/);
  for (const { type, url, variables, headers } of file.remotes) {
    assertEquals(type, "streamable-http");
    const names = [...url.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assertEquals(Object.keys(variables), names);
    for (const input of [...Object.values(variables), ...headers]) {
      const { isRequired, isSecret, description } = Object(input);
      assertEquals(typeof description, "string");
      assert(
        [isRequired, isSecret].every((each) =>
          each === undefined || typeof each === "boolean"
        ),
      );
    }
    const [header] = headers;
    const { key } = GATEWAY_KEY;
    await using office = await startOffice({
      server: {
        gateway: mcpGateway(),
        authenticator: apiKeys([{ id: "ann", key, roles: ["agent"] }]),
      },
      agent: { auth: { api_key: key } },
    });
    const path = new URL(url.replace("{office}", "any")).pathname;
    const status = async (headers: Record<string, string>) => {
      const response = await fetch(new URL(path, office.url), { headers });
      await response.body?.cancel();
      return response.status;
    };
    assertEquals(await status({}), 401);
    assert(await status({ [header.name]: key }) !== 401);
  }
});

Deno.test("every test that the page's table names is there", async () => {
  const page = await Deno.readTextFile(
    new URL("../../docs/mcp.md", import.meta.url),
  );
  const named = [...page.matchAll(/`(tests\/[^`]+)`/g)];
  assert(named.length > 10);
  for (const [, file = ""] of named) {
    const { isFile } = await Deno.stat(
      new URL(`../../${file}`, import.meta.url),
    );
    assert(isFile, file);
  }
});
