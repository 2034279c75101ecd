/**
 * Every way by which an MCP client can reach a Computer: by a sign-in it leads to the chosen ones, and another one
 * is as one that is not in the office.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rawServer } from "../../../support/computer/raw_server.ts";
import { skillText } from "../../../support/computer/skill_servers.ts";
import {
  ERAS,
  type SdkClient,
  sdkClient,
} from "../../../support/mcp/clients.ts";
import { bySignIn, signInGateway } from "../../../support/mcp/sign_ins.ts";
import { startOffice } from "../../../support/office.ts";
import { scratch } from "../../../support/scratch.ts";

/** The sign-ins of the tests: by each of them the Computer "chosen" is, "vault" and "spy" are not. */
const CHOICES = {
  only: { only: ["chosen", "away"] },
  except: { except: ["vault", "spy"] },
};

const NOTE = "notes://1";
const PAGE = "ui://notes/page.html";
const WINDOW = "window://notes/main";
const TEMPLATE = "notes://{folder}/{name}";

/** An MCP server with one of everything, and what names its Computer. */
const offering = (computer: string) =>
  rawServer({
    initialize: () => ({ instructions: `Rules of ${computer}` }),
    "tools/list": () => ({
      tools: [{
        name: "links",
        description: `of ${computer}`,
        inputSchema: { type: "object" },
      }],
    }),
    "tools/call": () => ({
      content: [
        { type: "text", text: `called at ${computer}` },
        {
          type: "resource_link",
          uri: `https://${computer}.example/`,
          name: "web",
        },
      ],
    }),
    "resources/list": () => ({
      resources: [
        { uri: NOTE, name: "note" },
        { uri: `own://${computer}`, name: "own" },
        { uri: PAGE, name: "page", mimeType: "text/html;profile=mcp-app" },
        { uri: WINDOW, name: "main" },
      ],
    }),
    "resources/templates/list": () => ({
      resourceTemplates: [{ uriTemplate: TEMPLATE, name: "note" }],
    }),
    "resources/read": ({ uri }) => ({
      contents: [{ uri, text: `read at ${computer}` }],
    }),
    "resources/subscribe": () => ({}),
    "prompts/list": () => ({ prompts: [{ name: "p" }] }),
    "prompts/get": () => ({
      messages: [{
        role: "user",
        content: { type: "text", text: `prompt of ${computer}` },
      }],
    }),
    "completion/complete": () => ({
      completion: { values: [`value of ${computer}`] },
    }),
  });

/** An office with two real Computers, and a third that notes what reaches it. */
async function startThree() {
  await using stack = new AsyncDisposableStack();
  const office = stack.use(
    await startOffice({ server: { gateway: signInGateway(CHOICES) } }),
  );
  await office.agent.leave();
  for (const name of ["chosen", "vault"]) {
    const home = stack.use(await scratch());
    const folder = join(home.path, "user", "forms");
    await mkdir(folder, { recursive: true });
    const text = skillText("forms", "Fills in forms.", `skill of ${name}\n`);
    await writeFile(join(folder, "SKILL.md"), text);
    await office.addComputer(name, {
      servers: { notes: offering(name) },
      skillHome: home.path,
    });
  }
  const reached: string[] = [];
  await office.addScriptedComputer("spy", (event) => {
    if (event !== "client:get_tools") reached.push(event);
    return { tools: [], req_id: "1" };
  });
  const kept = stack.move();
  return {
    /** What has reached the Computer "spy". */
    reached,
    connect: (
      id: keyof typeof CHOICES | "",
      era: (typeof ERAS)[number],
      query = "",
    ) => sdkClient(bySignIn(new URL("/mcp/north", office.url), id, query), era),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const encoded = encodeURIComponent;

/** A request for one Computer, and what shows that it was reached; none for `false`. */
interface Way {
  readonly query?: (computer: string) => string;
  readonly ask: (client: SdkClient, computer: string) => Promise<unknown>;
  readonly shows: RegExp | false;
}

const call =
  (name: string, args: Record<string, unknown> = {}) => (client: SdkClient) =>
    client.callTool({ name, arguments: args });

const read = (uriOf: (computer: string) => string): Way => ({
  ask: (client, computer) => client.readResource({ uri: uriOf(computer) }),
  shows: /of chosen|at chosen/,
});

const alone = (computer: string) => `?computer=${computer}`;
const searching = () => "?tools=search";
const withDesktop = () => "?desktop-tools=1";

const WAYS: Readonly<Record<string, Way>> = {
  "a tool": {
    ask: (client, computer) => call(`${computer}__links`)(client),
    shows: /called at chosen/,
  },
  "a tool by its whole name": {
    ask: (client, computer) => call(`${computer}__notes__links`)(client),
    shows: /called at chosen/,
  },
  "a tool of one Computer": {
    query: alone,
    ask: call("links"),
    shows: /called at chosen/,
  },
  "tools of one Computer": {
    query: alone,
    ask: (client) => client.listTools(),
    shows: /of chosen/,
  },
  "a search for tools of a Computer": {
    query: searching,
    ask: (client, computer) =>
      call("search_tools", { query: "", computer })(client),
    shows: /of chosen/,
  },
  "a tool by the tool that calls": {
    query: searching,
    ask: (client, computer) =>
      call("call_tool", { name: `${computer}__links` })(client),
    shows: /called at chosen/,
  },
  "a search in one Computer": {
    query: (computer) => `${alone(computer)}&tools=search`,
    ask: call("search_tools", { query: "" }),
    shows: /of chosen/,
  },
  "the tool for a desktop": {
    query: withDesktop,
    ask: (client, computer) => call("desktop", { computer })(client),
    shows: /read at chosen/,
  },
  "the tool for the desktop of one Computer": {
    query: (computer) => `${alone(computer)}&desktop-tools=1`,
    ask: call("desktop", { computer: "chosen" }),
    shows: /read at chosen/,
  },
  "the tool that finds documents": {
    query: withDesktop,
    ask: (client, computer) => call("find_documents", { computer })(client),
    shows: /\[\]/,
  },
  "the tool that reads documents": {
    query: withDesktop,
    ask: (client, computer) =>
      call("read_document", { computer, uri: "dpe://h/d" })(client),
    shows: /resolver|document|dpe/i,
  },
  "a desktop": {
    ...read((computer) => `a2c://${computer}/desktop`),
    shows: /read at chosen/,
  },
  "a window": read((computer) => `a2c://${computer}/window/${encoded(WINDOW)}`),
  "a document": {
    ...read((computer) => `a2c://${computer}/document/${encoded("dpe://h/d")}`),
    shows: /resolver|document|dpe/i,
  },
  "a skill": read((computer) => `a2c://${computer}/skill/forms/SKILL.md`),
  "a resource": read((computer) =>
    `a2c://${computer}/resource/notes/${encoded(NOTE)}`
  ),
  "a resource by its plain URI": read((computer) =>
    `a2c://${computer}/resource/notes/${NOTE}`
  ),
  "a resource by a URI in capitals": read((computer) =>
    `A2C:${computer}/resource/notes/${NOTE}`
  ),
  "a page": read((computer) => `ui://a2c/${computer}/notes/${encoded(PAGE)}`),
  "a resource that one MCP server alone has": read((computer) =>
    `own://${computer}`
  ),
  "a resource of one Computer": {
    query: alone,
    ask: (client) => client.readResource({ uri: NOTE }),
    shows: /read at chosen/,
  },
  "a link that was returned": {
    ask: async (client, computer) => {
      if (computer === "chosen") await call("chosen__links")(client);
      return await client.readResource({ uri: `https://${computer}.example/` });
    },
    shows: /read at chosen/,
  },
  "a prompt": {
    ask: (client, computer) => client.getPrompt({ name: `${computer}__p` }),
    shows: /prompt of chosen/,
  },
  "a prompt by its whole name": {
    ask: (client, computer) =>
      client.getPrompt({ name: `${computer}__notes__p` }),
    shows: /prompt of chosen/,
  },
  "a skill as a prompt": {
    ask: (client, computer) => client.getPrompt({ name: `${computer}__forms` }),
    shows: /skill of chosen/,
  },
  "a prompt of one Computer": {
    query: alone,
    ask: (client) => client.getPrompt({ name: "p" }),
    shows: /prompt of chosen/,
  },
  "a completion of a prompt": {
    ask: (client, computer) =>
      client.complete({
        ref: { type: "ref/prompt", name: `${computer}__p` },
        argument: { name: "x", value: "" },
      }),
    shows: /value of chosen/,
  },
  "a completion of a template": {
    ask: (client, computer) =>
      client.complete({
        ref: {
          type: "ref/resource",
          uri: `a2c://${computer}/resource/notes/${TEMPLATE}`,
        },
        argument: { name: "folder", value: "" },
      }),
    shows: /value of chosen/,
  },
  "a completion of the office's templates": {
    ask: (client, computer) =>
      client.complete({
        ref: { type: "ref/resource", uri: "a2c://{computer}/desktop" },
        argument: { name: "computer", value: computer.slice(0, 2) },
      }),
    shows: /chosen/,
  },
  "a completion of what a Computer has": {
    ask: (client, computer) =>
      client.complete({
        ref: {
          type: "ref/resource",
          uri: "a2c://{computer}/resource/{server}/{uri}",
        },
        argument: { name: "uri", value: "" },
        context: { arguments: { computer } },
      }),
    shows: /notes:/,
  },
  "the instructions": {
    query: alone,
    ask: (client) => Promise.resolve(client.getInstructions()),
    shows: /Computers: chosen[^]*Rules of chosen/,
  },
};

/** What a client gets of a request, with its Computer's name replaced. */
async function outcome(
  connect: (query: string) => Promise<SdkClient>,
  { query, ask }: Way,
  computer: string,
): Promise<string> {
  await using client = await connect(query?.(computer) ?? "");
  const text = await ask(client, computer).then(
    (result) => JSON.stringify(result),
    (error) =>
      `error ${error.code} ${error.message} ${JSON.stringify(error.data)}`,
  );
  return text.replaceAll(computer, "NAME");
}

for (const era of ERAS) {
  for (const id of ["only", "except"] as const) {
    Deno.test(`${era}: no way leads a sign-in (${id}) to a Computer that is not chosen`, async () => {
      await using office = await startThree();
      const connect = (query: string) => office.connect(id, era, query);
      for (const [label, way] of Object.entries(WAYS)) {
        const shown = await outcome(connect, way, "chosen");
        if (way.shows) {
          const named = shown.replaceAll("NAME", "chosen");
          assertMatch(named, way.shows, label);
        }
        const missing = await outcome(connect, way, "ghost");
        for (const computer of ["vault", "spy"]) {
          assertEquals(await outcome(connect, way, computer), missing, label);
        }
      }
      assertEquals(office.reached, []);
    });
  }

  Deno.test(`${era}: no list names a Computer that is not chosen to a sign-in`, async () => {
    await using office = await startThree();
    for (const id of ["only", "except"] as const) {
      for (const query of ["", "?tools=search", "?desktop-tools=1&lenient=1"]) {
        await using client = await office.connect(id, era, query);
        const lists = {
          instructions: client.getInstructions(),
          tools: (await client.listTools()).tools,
          resources: (await client.listResources()).resources,
          templates: (await client.listResourceTemplates()).resourceTemplates,
          prompts: (await client.listPrompts()).prompts,
        };
        for (const [name, list] of Object.entries(lists)) {
          const text = JSON.stringify(list);
          assert(!/vault|spy/.test(text), `${name}: ${text}`);
          const isOwn = name === "tools" && query === "?tools=search";
          assert(isOwn || /chosen/.test(text), `${name}: ${text}`);
        }
      }
    }
    assertEquals(office.reached, []);
    // Without a sign-in all of them are there.
    await using whole = await office.connect("", era);
    const { tools } = await whole.listTools();
    assertEquals(tools.map(({ name }) => name), [
      "chosen__links",
      "vault__links",
    ]);
  });
}
