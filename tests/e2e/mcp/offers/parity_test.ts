import { assert, assertEquals, assertRejects } from "@std/assert";
import { Client, type Tool } from "@modelcontextprotocol/client";
import { linkTo } from "../../../../mcp/resources/uris.ts";
import { everything } from "../../../support/computer/mcp_servers.ts";
import {
  ChildTransport,
  CLIENTS,
  connectV1,
  ERAS,
  sdkClient,
} from "../../../support/mcp/clients.ts";
import { serveOffice } from "../../../support/mcp/gateway.ts";

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
  ["trigger-url-elicitation", {
    url: "https://page.example/",
    elicitationId: "1",
  }],
  ["toggle-simulated-logging", {}],
  ["toggle-simulated-logging", {}],
  ["toggle-subscriber-updates", {}],
  ["toggle-subscriber-updates", {}],
];

/** Tools that cannot give the same, and why. */
const OTHER_RESULTS: Readonly<Record<string, string>> = {
  "get-env": "a Computer gives its MCP servers an environment of its own",
  "simulate-research-query":
    "can be called as a task alone, as these clients do not; a Computer does",
};

/** Tools that the server offers to a client that can do all but tasks, and not to a Computer, and why. */
const NOT_OFFERED: Readonly<Record<string, string>> = {
  "get-roots-list": "MCP has deprecated roots; a Computer has none",
  "trigger-sampling-request":
    "MCP has deprecated sampling; a Computer has no model",
};

/** Without the order of fields, and without the time of day, which is in some results. */
const asObject = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value).replaceAll(/\d+:\d\d:\d\d( [AP]M)?/g, "now"),
  );

/** What is equal whether a client is connected to the MCP server or to the office. */
const comparable = ({ _meta, execution: _, ...tool }: Tool) => asObject(tool);

/** A block of content with the URI by which a client of the office reads it. */
function linked(
  block: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { resource } = block;
  const link = (own: { uri?: unknown }) =>
    typeof own.uri === "string"
      ? { ...own, uri: linkTo({ computer: "pc", server: "all" }, own.uri) }
      : own;
  return {
    ...link(block),
    ...(resource !== undefined && { resource: link(Object(resource)) }),
  };
}

const directly = () => {
  const { command, args, env } = everything().server_parameters;
  return { command, args: args ?? [], env: env ?? {} };
};

const bridged = () =>
  serveOffice({ servers: { all: everything() }, mcp: { computer: "pc" } });

const decline = () => ({ action: "decline" as const });

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: the reference server's tools are the same through an office as directly`, async () => {
    await using office = await bridged();
    // Some tools are offered to clients that answer questions only, as a Computer does.
    await using direct = await connectV1(directly(), decline);
    await using client = await connect(office, decline);
    const ours = (await client.tools()).map(comparable);
    assertEquals(ours, (await direct.tools()).map(comparable));
    assertEquals(
      new Set([...CALLS.map(([name]) => name), ...Object.keys(OTHER_RESULTS)]),
      new Set(ours.map(({ name }) => name)),
    );
    for (const [name, args] of CALLS) {
      const [own, theirs] = [client, direct].map(async (from) => {
        const { content, structuredContent, isError } = await from.call(
          name,
          args,
        );
        const shown = from === client ? content : content.map(linked);
        return asObject({ content: shown, structuredContent, isError });
      });
      assertEquals(await own, await theirs, name);
    }
  });
}

Deno.test("the reference server offers a Computer all tools but those that need what a Computer has not", async () => {
  await using office = await bridged();
  const direct = new Client({ name: "test", version: "1.0.0" }, {
    versionNegotiation: { mode: "legacy" },
    capabilities: {
      elicitation: { form: {}, url: {} },
      sampling: {},
      roots: {},
    },
  });
  await direct.connect(new ChildTransport(directly()));
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
  await direct.close();
});

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

for (const era of ERAS) {
  Deno.test(`${era}: the reference server's prompts and resources are the same through an office, under URIs that say where they are too`, async () => {
    await using office = await bridged();
    await using direct = await sdkClient(directly(), "2025");
    await using client = await sdkClient(office, era);
    const { prompts } = await direct.listPrompts();
    const ourPrompts = (await client.listPrompts()).prompts;
    assertEquals(asObject(ourPrompts), asObject(prompts));
    assertEquals(
      new Set(PROMPTS.map(([name]) => name)),
      new Set(prompts.map(({ name }) => name)),
    );
    for (
      const ask of [
        {
          ref: { type: "ref/prompt", name: "completable-prompt" },
          argument: { name: "department", value: "S" },
        },
        {
          ref: { type: "ref/prompt", name: "completable-prompt" },
          argument: { name: "name", value: "" },
          context: { arguments: { department: "Sales" } },
        },
      ] as const
    ) {
      const [own, theirs] = [client, direct].map(async (from) =>
        (await from.complete(ask)).completion
      );
      assertEquals(await own, await theirs);
      assert((await own)?.values.length);
    }
    for (const [name, args] of PROMPTS) {
      const [own, theirs] = [client, direct].map(async (from) => {
        const { messages } = await from.getPrompt({ name, arguments: args });
        return from === client ? messages : messages.map((
          { role, content },
        ) => ({ role, content: linked({ ...content }) }));
      });
      assertEquals(asObject(await own), asObject(await theirs), name);
    }

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
    const contentsOf = async (from: Client, uri: string) => {
      const { contents } = await from.readResource({ uri });
      // The time is in a blob as well.
      return contents.map((each) =>
        asObject("blob" in each ? { ...each, blob: atob(each.blob) } : each)
      );
    };
    const listed = resources.map(({ uri }) => uri);
    for (const uri of [...listed, ...FROM_TEMPLATES]) {
      const theirs = await contentsOf(direct, uri);
      assertEquals(await contentsOf(client, uri), theirs);
      assertEquals(
        await contentsOf(client, shown(uri)),
        theirs.map((each) => ({ ...each, uri: shown(uri) })),
      );
    }
    await assertRejects(
      () => client.readResource({ uri: "demo://nothing" }),
      Error,
      "demo://nothing",
    );
    const own = await direct.listResourceTemplates();
    const { resourceTemplates } = await client.listResourceTemplates();
    assertEquals(
      // The first five are those of the office.
      asObject(resourceTemplates.slice(5)),
      asObject(
        own.resourceTemplates.map(({ uriTemplate, name, ...rest }) => ({
          ...rest,
          uriTemplate: `a2c://pc/resource/all/${uriTemplate}`,
          name: `${name} (pc)`,
        })),
      ),
    );
  });
}
