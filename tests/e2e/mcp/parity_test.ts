import { assertEquals } from "@std/assert";
import { Client, type Transport } from "@modelcontextprotocol/client";
import { everything } from "../../support/computer/mcp_servers.ts";
import { ChildTransport } from "../../support/mcp/child_transport.ts";
import {
  CLIENTS,
  connectV1,
  type SeenTool,
  type TestClient,
} from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/office.ts";
import { httpTransport } from "../../support/mcp/http_transport.ts";

const TIME = { timeout: 180_000 };

const FILE = "data:text/plain,a%20text%20that%20is%20packed";

/** Calls that give the same each time; what they toggle is off again at the end. */
const CALLS: readonly [name: string, args: Record<string, unknown>][] = [
  ["echo", { message: "hello" }],
  ["get-sum", { a: 2, b: 3 }],
  ["get-tiny-image", {}],
  ["get-structured-content", { location: "Chicago" }],
  ["get-annotated-message", { messageType: "error", includeImage: true }],
  ["get-resource-links", { count: 2 }],
  ["get-resource-reference", { resourceType: "Text", resourceId: 3 }],
  ["get-resource-reference", { resourceType: "Text", resourceId: -1 }],
  ["gzip-file-as-resource", { data: FILE, outputType: "resource" }],
  ["gzip-file-as-resource", { data: FILE, outputType: "resourceLink" }],
  ["trigger-long-running-operation", { duration: 0.02, steps: 2 }],
  ["trigger-elicitation-request", {}],
  ["toggle-simulated-logging", {}],
  ["toggle-simulated-logging", {}],
  ["toggle-subscriber-updates", {}],
  ["toggle-subscriber-updates", {}],
];

/** Tools that cannot give the same, and why. */
const OTHER_RESULTS: Readonly<Record<string, string>> = {
  "get-env": "a Computer gives its MCP servers an environment of its own",
  "simulate-research-query":
    "runs as a task only, an extension of MCP that A2C does not have",
};

/** Tools that the server offers to a client that can do all but tasks, and not to a Computer, and why. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  "get-roots-list": "MCP has deprecated roots; a Computer has none",
  "trigger-sampling-request":
    "MCP has deprecated sampling; a Computer has no model",
  "trigger-url-elicitation":
    "a Computer opens no page that an MCP server names",
};

/** What is equal whether a client is connected to the MCP server or to the office. */
const comparable = (
  { name, title, description, icons, inputSchema, outputSchema, annotations }:
    SeenTool,
) => ({
  name,
  title,
  icons: asObject(icons),
  description,
  inputSchema: asObject(inputSchema),
  outputSchema: asObject(outputSchema),
  annotations: asObject(annotations),
});

/** Without the order of fields, and without the time of day, which some results tell. */
const asObject = (value: unknown) =>
  value === undefined ? undefined : JSON.parse(
    JSON.stringify(value).replaceAll(/\d+:\d\d:\d\d( [AP]M)?/g, "now"),
  );

async function contentOf(client: TestClient, [name, args]: typeof CALLS[0]) {
  const { content, structuredContent, isError } = await client.call(name, args);
  return asObject({ content, structuredContent, isError });
}

const directly = () => {
  const { command, args, env } = everything().server_parameters;
  return { command, args: args ?? [], env: env ?? {} };
};

const bridged = () =>
  serveOffice({ servers: { all: everything() }, mcp: { computer: "pc" } });

const decline = () => ({ action: "decline" as const });

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(
    `${kind}: the reference server's tools are the same through an office as directly`,
    TIME,
    async () => {
      await using office = await bridged();
      // Some tools are offered to clients that answer questions only, as a Computer does.
      await using direct = await connectV1(directly(), decline);
      await using client = await connect(office, decline);
      const theirs = (await direct.tools()).map(comparable);
      const ours = (await client.tools()).map(comparable);
      assertEquals(ours, theirs);
      const compared = CALLS.map(([name]) => name);
      assertEquals(
        new Set([...compared, ...Object.keys(OTHER_RESULTS)]),
        new Set(ours.map(({ name }) => name)),
      );
      for (const call of CALLS) {
        assertEquals(
          await contentOf(client, call),
          await contentOf(direct, call),
          call[0],
        );
      }
    },
  );
}

type Capabilities = NonNullable<
  ConstructorParameters<typeof Client>[1]
>["capabilities"];

/** Connects the SDK's client. */
async function open(
  transport: Transport,
  mode: "legacy" | { pin: string } = "legacy",
  capabilities: Capabilities = {},
): Promise<Client & AsyncDisposable> {
  const client = new Client({ name: "test", version: "1.0.0" }, {
    versionNegotiation: { mode },
    capabilities,
  });
  await client.connect(transport);
  return Object.assign(client, {
    [Symbol.asyncDispose]: () => client.close(),
  });
}

Deno.test(
  "the reference server offers a Computer all tools but those that need what a Computer has not",
  TIME,
  async () => {
    await using office = await bridged();
    const transport = new ChildTransport(directly());
    await using direct = await open(transport, "legacy", {
      elicitation: { form: {}, url: {} },
      sampling: {},
      roots: {},
    });
    const asked = Promise.withResolvers<void>();
    direct.setRequestHandler("roots/list", () => {
      asked.resolve();
      return { roots: [] };
    });
    const offered = await office.office.agent.getTools("pc");
    const names = new Set(offered.map(({ name }) => name));
    // Without the answer, which goes before the list, the server would end in a minute only.
    await asked.promise;
    const { tools } = await direct.listTools();
    const missing = tools.map(({ name }) => name)
      .filter((name) => !names.has(name));
    assertEquals(new Set(missing), new Set(Object.keys(NOT_OFFERED)));
  },
);

const PROMPTS: readonly [name: string, args: Record<string, string>][] = [
  ["simple-prompt", {}],
  ["args-prompt", { city: "Bonn", state: "NRW" }],
  ["args-prompt", { city: "Bonn" }],
  ["completable-prompt", { department: "Sales", name: "Eve" }],
  ["resource-prompt", { resourceType: "Text", resourceId: "2" }],
];

/** Resources that no list has, made from the server's templates. */
const FROM_TEMPLATES = ["text", "blob"].map((kind) =>
  `demo://resource/dynamic/${kind}/7`
);

const ERAS = [["2025", "legacy"], ["2026", { pin: "2026-07-28" }]] as const;

for (const [era, mode] of ERAS) {
  Deno.test(
    `${era}: the reference server's prompts are the same through an office as directly`,
    TIME,
    async () => {
      await using office = await bridged();
      await using direct = await open(new ChildTransport(directly()));
      await using client = await open(
        httpTransport(office.url),
        mode,
      );
      const { prompts } = await direct.listPrompts();
      assertEquals(
        asObject((await client.listPrompts()).prompts),
        asObject(prompts),
      );
      assertEquals(
        new Set(PROMPTS.map(([name]) => name)),
        new Set(prompts.map(({ name }) => name)),
      );
      // A2C has no request for the values that an argument can have.
      const { completion } = await client.complete({
        ref: { type: "ref/prompt", name: "completable-prompt" },
        argument: { name: "department", value: "S" },
      });
      assertEquals(completion.values, []);
      for (const [name, args] of PROMPTS) {
        const { messages } = await direct.getPrompt({ name, arguments: args });
        const ours = await client.getPrompt({ name, arguments: args });
        assertEquals(asObject(ours.messages), asObject(messages), name);
      }
    },
  );

  Deno.test(
    `${era}: the reference server's resources are the same through an office, under URIs that say where they are`,
    TIME,
    async () => {
      await using office = await bridged();
      await using direct = await open(new ChildTransport(directly()));
      await using client = await open(
        httpTransport(office.url),
        mode,
      );
      const shown = (uri: string) =>
        `a2c://pc/resource/all/${encodeURIComponent(uri)}`;
      const { resources } = await direct.listResources();
      const [desktop, ...ours] = (await client.listResources()).resources;
      assertEquals(desktop?.uri, "a2c://pc/desktop");
      assertEquals(
        asObject(ours),
        asObject(resources.map(({ uri, name, ...rest }) => ({
          ...rest,
          uri: shown(uri),
          // In the menus of clients there are those of many servers.
          name: `${name} (pc)`,
        }))),
      );
      const listed = resources.map(({ uri }) => uri);
      for (const uri of [...listed, ...FROM_TEMPLATES]) {
        const contentsOf = async (from: Client, uri: string) => {
          const { contents } = await from.readResource({ uri });
          // A blob tells the time as well.
          return contents.map((each) =>
            asObject("blob" in each ? { ...each, blob: atob(each.blob) } : each)
          );
        };
        const theirs = await contentsOf(direct, uri);
        assertEquals(await contentsOf(client, uri), theirs);
        assertEquals(
          await contentsOf(client, shown(uri)),
          theirs.map((each) => ({ ...each, uri: shown(uri) })),
        );
      }
      // A2C has no request for the templates of MCP servers: an office has its own.
      const { resourceTemplates } = await client.listResourceTemplates();
      assertEquals(
        resourceTemplates.map(({ uriTemplate }) => uriTemplate).at(-1),
        "a2c://{computer}/resource/{server}/{uri}",
      );
    },
  );
}
