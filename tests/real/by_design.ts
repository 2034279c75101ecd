/**
 * How what an office shows of an MCP server differs from what that sends: all of it, with the reasons.
 *
 * @module
 */
import config from "../../deno.json" with { type: "json" };
import { linkTo, templateOf, uriOf } from "../../mcp/resources/uris.ts";
import { withPageUris } from "../../protocol/mcp/apps.ts";

/** An object as it arrived. */
export type Raw = Readonly<Record<string, unknown>>;

/** What came of an MCP server on one way. */
export interface Seen {
  readonly tools: readonly Raw[];
  readonly prompts: readonly Raw[];
  readonly resources: readonly Raw[];
  readonly templates: readonly Raw[];
  /** The results of its calls. */
  readonly calls: readonly Raw[];
  /** Its prompts, filled in. */
  readonly filled: readonly Raw[];
  /** What its resources contain. */
  readonly contents: readonly Raw[];
}

/** Where an MCP server is in an office. */
export interface Place {
  /** The name of its Computer and of itself: each Computer has one MCP server. */
  readonly name: string;
  /** What the names of its tools begin with at the Computer: its `bundle_id` and `__` from 0.3 on. */
  readonly prefix: string;
}

/** A difference that is meant to be. */
export interface Difference {
  /** What differs. */
  readonly what: string;
  readonly why: string;
  /** Makes of what the MCP server sent what arrives; `undefined` for nothing. */
  readonly make: (own: Raw, place: Place) => Raw | undefined;
}

/** The differences in each list and result of a way. */
export type Differences = {
  readonly [Kind in keyof Seen]: readonly Difference[];
};

/** Names a tool or prompt over MCP: of a Computer that has one MCP server. */
export const nameOverMcp = (computer: string, own: string): string =>
  `${computer}__${own}`;

const WITHOUT_TASKS: Difference = {
  what: "execution",
  why: "says whether a tool runs as a task, an extension of MCP that A2C lacks",
  make: ({ execution: _, ...own }) => own,
};

/** Simple values stay as they are, others become JSON. */
const attribute = (value: unknown) =>
  typeof value === "object" ? JSON.stringify(value) : value;

/** What an Agent gets (docs/protocol.md). */
export const FOR_AGENTS: Differences = {
  tools: [
    WITHOUT_TASKS,
    {
      what: "name",
      why: "begins with the bundle_id, since an Agent sees the tools of many",
      make: (own, { name, prefix }) => ({
        ...own,
        name: `${prefix}${own.name}`,
        bundle_id: name,
      }),
    },
    {
      what: "params_schema, return_schema",
      why: "the protocol names them so; the second is null where there is none",
      make: ({ inputSchema, outputSchema = null, ...own }) => ({
        ...own,
        params_schema: inputSchema,
        return_schema: outputSchema,
      }),
    },
    {
      what: "meta",
      why: "has _meta and annotations as simple values or JSON, and the server",
      make: ({ _meta, annotations, ...own }, { name }) => {
        const meta: Raw = {
          ...(_meta as Raw),
          ...(annotations !== undefined &&
            { MCP_TOOL_ANNOTATION: annotations }),
          a2c_mcp_server: name,
        };
        const entries = Object.entries(meta)
          .map(([key, value]) => [key, attribute(value)]);
        return { ...own, meta: Object.fromEntries(entries) };
      },
    },
  ],
  prompts: [{
    what: "mcp_server",
    why: "an Agent gets the prompts of all MCP servers in one list",
    make: (own, { name }) => ({ ...own, mcp_server: name }),
  }],
  resources: [],
  templates: [{
    what: "mcp_server",
    why: "an Agent gets the templates of all MCP servers in one list",
    make: (own, { name }) => ({ ...own, mcp_server: name }),
  }],
  calls: [],
  filled: [],
  contents: [],
};

const titled = (own: Raw, { name }: Place): Raw => {
  const { title } = own;
  return typeof title === "string"
    ? { ...own, title: `${title} (${name})` }
    : own;
};

const IN_MENUS = "menus and models show those of many Computers";

const WITH_URI: Difference = {
  what: "uri",
  why: "names the Computer and its MCP server, as two could have one URI",
  make: (own, { name }) => ({
    ...own,
    uri: uriOf({
      kind: "resource",
      computer: name,
      server: name,
      uri: String(own.uri),
    }),
  }),
};

const NAMED: Difference = {
  what: "name",
  why: IN_MENUS,
  make: (own, { name }) => ({ ...own, name: `${own.name} (${name})` }),
};

/** Shows the links of a list of content. */
const linked = (content: unknown, { name }: Place): unknown =>
  [content as Raw | Raw[]].flat().map((block) => {
    const { uri, resource } = block;
    const link = (own: unknown) =>
      linkTo({ computer: name, server: name }, String(own));
    if (block.type === "resource_link") return { ...block, uri: link(uri) };
    return block.type === "resource"
      ? {
        ...block,
        resource: { ...resource as Raw, uri: link((resource as Raw).uri) },
      }
      : block;
  });

const WITH_LINKS: Difference = {
  what: "uri in content",
  why: "a client reads it at the office, which names Computer and MCP server",
  make: (own, place) =>
    own.content === undefined
      ? own
      : { ...own, content: linked(own.content, place) },
};

/** What an MCP client of an office gets in a session (docs/mcp.md). */
export const OVER_MCP: Differences = {
  tools: [
    WITHOUT_TASKS,
    {
      what: "_meta.ui.resourceUri",
      why: "a client reads the page at the office, as it does links",
      make: (own, { name }) =>
        own._meta === undefined ? own : {
          ...own,
          _meta: withPageUris(
            { ...own._meta as Raw },
            (uri) => linkTo({ computer: name, server: name }, uri),
          ),
        },
    },
    {
      what: "_meta",
      why: "says where the tool is",
      make: (own, { name, prefix }) => ({
        ...own,
        _meta: {
          ...(own._meta as Raw),
          "a2c-smcp/computer": name,
          "a2c-smcp/tool": `${prefix}${own.name}`,
          "a2c-smcp/mcp_server": name,
        },
      }),
    },
    {
      what: "name",
      why: "begins with the Computer",
      make: (own, { name }) => ({
        ...own,
        name: nameOverMcp(name, String(own.name)),
      }),
    },
    {
      what: "title",
      why: `${IN_MENUS}; that of the annotations counts as well`,
      make: (own, place) => {
        const { title } = { ...(own.annotations as Raw) };
        return titled({ ...(title !== undefined && { title }), ...own }, place);
      },
    },
    {
      what: "description",
      why: IN_MENUS,
      make: (own, { name }) => ({
        ...own,
        description: `[${name}] ${own.description}`,
      }),
    },
  ],
  prompts: [
    {
      what: "name",
      why: "begins with the Computer",
      make: (own, { name }) => ({
        ...own,
        name: nameOverMcp(name, String(own.name)),
      }),
    },
    { what: "title", why: IN_MENUS, make: titled },
    {
      what: "description",
      why: IN_MENUS,
      make: (own, { name }) => ({
        ...own,
        description: `[${name}] ${own.description ?? ""}`.trim(),
      }),
    },
  ],
  resources: [
    WITH_URI,
    NAMED,
    { what: "title", why: IN_MENUS, make: titled },
  ],
  templates: [
    {
      what: "uriTemplate",
      why: "names the Computer and its MCP server, as two could have one",
      make: (own, { name }) => ({
        ...own,
        uriTemplate: templateOf(
          { computer: name, server: name },
          String(own.uriTemplate),
        ),
      }),
    },
    NAMED,
  ],
  calls: [WITH_LINKS],
  filled: [],
  contents: [WITH_URI],
};

const WITH_SERVER: Difference = {
  what: "_meta",
  why: "with this revision of MCP each result names the server that made it",
  make: (own) => ({
    ...own,
    _meta: {
      ...(own._meta as Raw),
      "io.modelcontextprotocol/serverInfo": {
        name: "a2c-smcp",
        version: config.version,
      },
    },
  }),
};

/** The same with MCP 2026-07-28. */
export const OVER_MCP_2026: Differences = {
  ...OVER_MCP,
  calls: [WITH_LINKS, WITH_SERVER],
  filled: [WITH_SERVER],
};

/** Makes what arrives of a list, and the differences that changed anything of it. */
export function expected(
  own: readonly Raw[],
  differences: readonly Difference[],
  place: Place,
): { readonly items: readonly Raw[]; readonly met: ReadonlySet<Difference> } {
  const met = new Set<Difference>();
  let items: readonly Raw[] = own;
  for (const difference of differences) {
    const before = JSON.stringify(items);
    items = items.map((item) => difference.make(item, place))
      .filter((item) => item !== undefined);
    if (JSON.stringify(items) !== before) met.add(difference);
  }
  return { items, met };
}
