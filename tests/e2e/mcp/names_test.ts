import { assertEquals, assertStringIncludes } from "@std/assert";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SmcpComputer } from "../../../computer/mod.ts";
import { officeMcp } from "../../../mcp/mod.ts";
import {
  fixture,
  type StdioSettings,
} from "../../support/computer/mcp_servers.ts";
import { rawServer } from "../../support/computer/raw_server.ts";
import { skillText } from "../../support/computer/skill_servers.ts";
import {
  CLIENTS,
  sdkClient,
  type TestClient,
} from "../../support/mcp/clients.ts";
import { inProcess } from "../../support/mcp/gateway.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

const IDS = Array.from({ length: 12 }, (_, at) => `server-${at}`);
/** No other MCP server has it. */
const ownTool = (id: string) => `only_of_${id}`;

/** An MCP server that starts when a file is there, with a tool of its own and some that others have too. */
function waitingServer(id: string, at: number, folder: string): StdioSettings {
  const shared = ["write_file", `pair_${at >> 1}`];
  const extraTools = [...shared, ownTool(id)].map((name) => ({
    name,
    inputSchema: { type: "object" },
  }));
  const { server_parameters: { command, args = [], env = null } } = fixture({
    only: ["echo"],
    extraTools,
  });
  const wait = 'until [ -e "$0" ]; do sleep 0.05; done; exec "$@"';
  return {
    type: "stdio",
    server_parameters: {
      command: "sh",
      args: ["-c", wait, join(folder, id), command, ...args],
      env,
    },
    ...(at === 0 && { tool_meta: { pair_0: { alias: "first" } } }),
  };
}

/** What each name means that a client sees now. */
const meaningsOf = async (client: TestClient): Promise<Map<string, string>> =>
  new Map(
    (await client.tools()).map(({ name, _meta: meta }) => [
      name,
      `${meta?.["a2c-smcp/mcp_server"]} ${meta?.["a2c-smcp/tool"]}`,
    ]),
  );

/** Starts the MCP servers one after another; returns all that the names meant meanwhile, and at the end. */
async function meaningsInStart(order: readonly string[]) {
  await using folder = await scratch();
  await using office = await startOffice({ server: { protocol: "all" } });
  const servers = Object.fromEntries(
    IDS.map((id, at) => [id, waitingServer(id, at, folder.path)]),
  );
  await using computer = new SmcpComputer({
    url: office.url,
    name: "pc",
    servers: { ...servers, off: { ...fixture(), disabled: true } },
  });
  await computer.connect();
  await computer.join(OFFICE);
  const open = (id = "") => writeFile(join(folder.path, id), "");
  const [first, ...others] = order;
  await open(first);
  await using mcp = officeMcp(office.agent);
  const connect = CLIENTS["v2, 2026"];
  if (!connect) throw new Error("There is no such client");
  await using client = await connect(inProcess(mcp));
  await client.listening();
  const all = new Map<string, Set<string>>();
  const note = (now: ReadonlyMap<string, string>) => {
    for (const [name, meaning] of now) {
      all.set(name, (all.get(name) ?? new Set()).add(meaning));
    }
  };
  for (const id of [first, ...others]) {
    if (id === undefined) continue;
    if (id !== first) await open(id);
    for (;;) {
      const count = client.changes();
      const now = await meaningsOf(client);
      note(now);
      const own = `${id} ${id}__${ownTool(id)}`;
      if ([...now.values()].includes(own)) break;
      await client.changed(count + 1);
    }
  }
  const last = await meaningsOf(client);
  await client.terminate();
  return { all, last };
}

Deno.test({
  name:
    "twelve MCP servers have the same names in every start, whichever comes first, and while they start",
  timeout: 180_000,
  fn: async () => {
    const orders = [
      IDS,
      IDS.toReversed(),
      IDS.toSorted((a, b) => a < b ? 1 : -1),
    ];
    const starts = [];
    for (const order of orders) starts.push(await meaningsInStart(order));
    const [{ last } = { last: new Map<string, string>() }] = starts;
    assertEquals(last.size, 48);
    assertEquals(
      last.get("pc__server-0__write_file"),
      "server-0 server-0__write_file",
    );
    assertEquals(last.get("pc__first"), "server-0 server-0__first");
    for (const start of starts) {
      assertEquals(start.last, last);
      for (const [name, meanings] of start.all) {
        assertEquals([...meanings], [last.get(name)], name);
      }
    }
  },
});

Deno.test("a prompt has one name, and a skill of that name another, before and after its MCP server starts", async () => {
  await using folder = await scratch();
  const skill = join(folder.path, "user", "greet");
  await mkdir(skill, { recursive: true });
  await writeFile(join(skill, "SKILL.md"), skillText("greet", "Of the user."));
  const started = Promise.withResolvers<void>();
  const { server, ...settings } = rawServer({
    "prompts/list": () => ({ prompts: [{ name: "greet" }] }),
    "prompts/get": () => ({
      messages: [{ role: "user", content: { type: "text", text: "hello" } }],
    }),
  });
  const late = {
    async connect(transport: object) {
      await started.promise;
      await server.connect(transport);
    },
  };
  await using office = await startOffice();
  await using computer = new SmcpComputer({
    url: office.url,
    name: "pc",
    skillHome: folder.path,
    servers: { s: { ...settings, server: late } },
  });
  await computer.connect();
  await computer.join(OFFICE);
  await using mcp = officeMcp(office.agent);
  await using client = await sdkClient(inProcess(mcp), "2026");
  const namesNow = async () =>
    (await client.listPrompts()).prompts.map(({ name }) => name);
  const textOf = async (name: string) =>
    JSON.stringify((await client.getPrompt({ name })).messages);
  await client.watch();
  assertEquals(await namesNow(), ["pc__greet"]);
  const ofSkill = await textOf("pc__greet");
  started.resolve();
  for (let count = 1; (await namesNow()).join() === "pc__greet";) {
    await client.told("prompts", count++);
  }
  assertEquals(await namesNow(), ["pc__s__greet", "pc__greet"]);
  assertEquals(await textOf("pc__greet"), ofSkill);
  assertStringIncludes(await textOf("pc__s__greet"), "hello");
});
