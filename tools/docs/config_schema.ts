import { z } from "zod";
import {
  partsOf,
  plainObject,
} from "../../protocol/validation/plain_values.ts";
import { mcpServerConfigSchema } from "../../protocol/payloads/config.ts";
import { inputSchema } from "../../protocol/payloads/inputs.ts";
import { type InterfaceDocs, interfaceDocs } from "./interface_docs.ts";

/** The part of JSON Schema that is used here. */
export interface JsonSchema {
  $schema?: string;
  $ref?: string;
  definitions?: Record<string, JsonSchema>;
  title?: string;
  description?: string;
  type?: string | readonly string[];
  properties?: Record<string, JsonSchema>;
  required?: readonly string[];
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
  allOf?: readonly JsonSchema[];
  not?: JsonSchema;
  if?: JsonSchema;
  then?: JsonSchema;
  else?: JsonSchema;
  const?: unknown;
  enum?: readonly unknown[];
  default?: unknown;
}

/** Where the fields of each kind of MCP server and of input are documented. */
const INTERFACES: Record<string, { own: string; parameters?: string }> = {
  stdio: {
    own: "MCPServerStdioConfig",
    parameters: "MCPServerStdioParameters",
  },
  streamable: {
    own: "MCPServerStreamableHttpConfig",
    parameters: "MCPServerStreamableHttpParameters",
  },
  sse: { own: "MCPSSEConfig", parameters: "MCPSSEParameters" },
  promptString: { own: "MCPServerPromptStringInput" },
  pickString: { own: "MCPServerPickStringInput" },
  command: { own: "MCPServerCommandInput" },
};

/** The kinds of MCP servers and of inputs by their `type`, each as the JSON Schema of an object. */
export interface ConfigKinds {
  /** `stdio`, `streamable`, `sse`. */
  readonly servers: Readonly<Record<string, JsonSchema>>;
  /** `promptString`, `pickString`, `command`. */
  readonly inputs: Readonly<Record<string, JsonSchema>>;
}

/** Makes the JSON Schema of each kind of the validators, described by the doc comments of the types. */
export async function configKinds(): Promise<ConfigKinds> {
  const docs = await interfaceDocs([
    "protocol/payloads/config.ts",
    "protocol/payloads/inputs.ts",
    "protocol/payloads/tools.ts",
  ]);
  const kinds = (schema: z.core.$ZodType) =>
    Object.fromEntries(
      (toJsonSchema(schema).oneOf ?? []).map((kind) => [
        typeOf(kind),
        describe(kind, docs),
      ]),
    );
  return {
    servers: kinds(mcpServerConfigSchema),
    inputs: kinds(inputSchema),
  };
}

/**
 * Makes the JSON Schema of the configuration file, for editors.
 *
 * It holds our own form to what the validators demand, save what JSON Schema can not say: that
 * names equal their keys, that ids are unique, that VRL compiles. The forms of other programs pass.
 */
export async function configSchema(): Promise<JsonSchema> {
  const { servers, inputs } = await configKinds();
  const map = (strictness: Strictness): JsonSchema => ({
    type: "object",
    additionalProperties: ownUnlessForeign(oneOf(servers, "own"), strictness),
  });
  const list: JsonSchema = {
    type: "array",
    items: { allOf: [oneOf(servers, "foreign")], required: ["name"] },
  };
  const file = (
    strictness: Strictness,
    servers: Record<string, JsonSchema>,
  ): JsonSchema => ({
    type: "object",
    properties: {
      $schema: {},
      inputs: {
        description: "What the placeholders ${input:ID} stand for.",
        type: "array",
        items: oneOf(inputs, strictness),
      },
      ...servers,
    },
    required: Object.keys(servers),
    ...(strictness === "own" && { additionalProperties: false }),
  });
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "The MCP servers that a Computer of A2C-SMCP hosts",
    oneOf: [
      {
        if: {
          not: { required: ["mcpServers"] },
          properties: {
            servers: { type: "object", additionalProperties: { not: FOREIGN } },
          },
        },
        then: file("own", { servers: map("own") }),
        else: file("foreign", { servers: { anyOf: [map("foreign"), list] } }),
      },
      file("foreign", { mcpServers: map("foreign") }),
      list,
    ],
    definitions: {
      ...mapKinds(servers, (kind) => strict(withoutName(kind))),
      ...mapKinds(inputs, strict),
      ...mapKinds(servers, withoutName, "foreign"),
      ...mapKinds(inputs, (kind) => kind, "foreign"),
    },
  };
}

/** In our own form a field that nobody knows is an error; in others it may be the program's own. */
type Strictness = "own" | "foreign";

const nameOf = (kind: string, strictness: Strictness): string =>
  strictness === "own" ? kind : `${kind}-open`;

const oneOf = (kinds: object, strictness: Strictness): JsonSchema => ({
  oneOf: Object.keys(kinds).map((kind) => ({
    $ref: `#/definitions/${nameOf(kind, strictness)}`,
  })),
});

const mapKinds = (
  kinds: Readonly<Record<string, JsonSchema>>,
  change: (kind: JsonSchema) => JsonSchema,
  strictness: Strictness = "own",
): Record<string, JsonSchema> =>
  Object.fromEntries(
    Object.entries(kinds).map((
      [kind, schema],
    ) => [nameOf(kind, strictness), change(schema)]),
  );

/** The key of a map is the name. */
const withoutName = (server: JsonSchema): JsonSchema => ({
  ...server,
  required: server.required?.filter((field) => field !== "name") ?? [],
});

/** Takes no other fields, in `server_parameters` either; metadata of tools stays open (spec §4). */
function strict(kind: JsonSchema): JsonSchema {
  const { server_parameters, ...others } = kind.properties ?? {};
  return {
    ...kind,
    properties: {
      ...others,
      ...(server_parameters && {
        server_parameters: {
          ...server_parameters,
          additionalProperties: false,
        },
      }),
    },
    additionalProperties: false,
  };
}

/** An entry of another program: it has the fields of `server_parameters` beside the type. */
const FOREIGN: JsonSchema = {
  type: "object",
  not: { required: ["server_parameters"] },
  anyOf: ["command", "url", "serverUrl", "httpUrl"].map((field) => ({
    required: [field],
  })),
};

/** What another program knows is not held to our form. */
const ownUnlessForeign = (
  own: JsonSchema,
  strictness: Strictness,
): JsonSchema =>
  strictness === "own"
    ? own
    : { if: FOREIGN, then: { type: "object" }, else: own };

function toJsonSchema(schema: z.core.$ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: "input",
    target: "draft-7",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod;
      if (def.type === "default") jsonSchema.default = def.defaultValue;
      if (zodSchema === plainObject) jsonSchema.type = "object";
      const parts = partsOf.get(zodSchema);
      if (!parts) return;
      Object.assign(
        jsonSchema,
        "items" in parts
          ? { type: "array", items: inner(parts.items) }
          : { type: "object", additionalProperties: inner(parts.values) },
      );
    },
  }) as JsonSchema;
}

function inner(schema: z.core.$ZodType): JsonSchema {
  const { $schema: _, ...rest } = toJsonSchema(schema);
  return rest;
}

function typeOf({ properties }: JsonSchema): string {
  return String(properties?.type?.const ?? properties?.type?.enum?.[0]);
}

/** Adds what the doc comments say, field by field. */
function describe(kind: JsonSchema, docs: InterfaceDocs): JsonSchema {
  const found = INTERFACES[typeOf(kind)];
  if (!found) throw new Error(`Cannot describe "${typeOf(kind)}"`);
  if (!found.parameters) {
    return addDocs(addDocs(kind, "MCPServerInputBase", docs), found.own, docs);
  }
  const own = addDocs(kind, found.own, docs);
  const { properties } = addDocs(own, "BaseMCPServerConfig", docs);
  const { server_parameters, tool_meta, default_tool_meta } = properties ?? {};
  return {
    ...own,
    properties: {
      ...properties,
      server_parameters: addDocs(
        server_parameters ?? {},
        found.parameters,
        docs,
      ),
      tool_meta: {
        ...tool_meta,
        additionalProperties: addDocs(
          object(tool_meta?.additionalProperties),
          "ToolMeta",
          docs,
        ),
      },
      default_tool_meta: {
        ...default_tool_meta,
        anyOf: (default_tool_meta?.anyOf ?? []).map((option) =>
          withoutAlias(addDocs(option, "ToolMeta", docs))
        ),
      },
    },
  };
}

function addDocs(
  schema: JsonSchema,
  name: string,
  docs: InterfaceDocs,
): JsonSchema {
  if (!schema.properties) return schema;
  const fields = docs.get(name);
  return {
    ...schema,
    properties: mapValues(schema.properties, (value, field) => {
      const description = fields?.get(field) ?? value.description;
      return description ? { ...value, description } : value;
    }),
  };
}

/** The validator's own refinement, which JSON Schema can not see: one alias can not serve every tool. */
const withoutAlias = (schema: JsonSchema): JsonSchema =>
  schema.properties
    ? {
      ...schema,
      properties: { ...schema.properties, alias: { type: "null" } },
    }
    : schema;

const object = (schema: JsonSchema | boolean | undefined): JsonSchema =>
  typeof schema === "object" ? schema : {};

const mapValues = (
  record: Readonly<Record<string, JsonSchema>>,
  change: (value: JsonSchema, key: string) => JsonSchema,
): Record<string, JsonSchema> =>
  Object.fromEntries(
    Object.entries(record).map(([key, value]) => [key, change(value, key)]),
  );
