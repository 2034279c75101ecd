import { z } from "zod";
import { partsOf, plainObject } from "../../protocol/_plain.ts";
import { mcpServerConfigSchema } from "../../protocol/config.ts";
import { inputSchema } from "../../protocol/inputs.ts";
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
    "protocol/config.ts",
    "protocol/inputs.ts",
    "protocol/tools.ts",
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
  const oneOf = (kinds: object): JsonSchema => ({
    oneOf: Object.keys(kinds).map((kind) => ({
      $ref: `#/definitions/${kind}`,
    })),
  });
  const list: JsonSchema = {
    type: "array",
    items: { allOf: [oneOf(servers)], required: ["name"] },
  };
  const map: JsonSchema = {
    type: "object",
    additionalProperties: ownUnlessForeign(oneOf(servers)),
  };
  const file = (servers: Record<string, JsonSchema>): JsonSchema => ({
    type: "object",
    properties: {
      $schema: { type: "string" },
      inputs: {
        description: "What the placeholders ${input:ID} stand for.",
        type: "array",
        items: oneOf(inputs),
      },
      ...servers,
    },
    required: Object.keys(servers),
  });
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "The MCP servers that a Computer of A2C-SMCP hosts",
    oneOf: [
      file({ servers: { anyOf: [map, list] } }),
      file({ mcpServers: map }),
      list,
    ],
    definitions: {
      ...mapValues(servers, (server) => ({
        ...server, // the key of a map is the name
        required: server.required?.filter((field) => field !== "name") ?? [],
      })),
      ...inputs,
    },
  };
}

/** Other programs have the fields of `server_parameters` beside the type; theirs are not held to ours. */
const ownUnlessForeign = (own: JsonSchema): JsonSchema => ({
  if: {
    type: "object",
    not: { required: ["server_parameters"] },
    anyOf: ["command", "url", "serverUrl", "httpUrl"].map((field) => ({
      required: [field],
    })),
  },
  then: { type: "object" },
  else: own,
});

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
  const own = addDocs(kind, found.own, docs);
  if (!found.parameters) return own;
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
