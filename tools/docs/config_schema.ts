import { z } from "zod";
import { partsOf, plainObject } from "../../protocol/validation.ts";
import { mcpServerConfigSchema } from "../../protocol/payloads/config_file.ts";
import { inputSchema } from "../../protocol/payloads/inputs.ts";
import {
  conditionsSchema,
  fileSchema,
  ruleSchema,
} from "../../computer/config/rule_entries.ts";
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
  minItems?: number;
  minProperties?: number;
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

/** The interfaces that document the fields of each kind of MCP server and input. */
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

/** The JSON Schemas of the kinds of MCP servers and inputs, by their `type`. */
export interface ConfigKinds {
  /** `stdio`, `streamable`, `sse`. */
  readonly servers: Readonly<Record<string, JsonSchema>>;
  /** `promptString`, `pickString`, `command`. */
  readonly inputs: Readonly<Record<string, JsonSchema>>;
  /** A rule about tool calls, its conditions and its `file`. */
  readonly rules: Readonly<Record<"rule" | "conditions" | "file", JsonSchema>>;
}

/** Creates the JSON Schema of each kind from its validator, with descriptions from doc comments. */
export async function configKinds(): Promise<ConfigKinds> {
  const docs = await interfaceDocs([
    "protocol/payloads/config.ts",
    "protocol/payloads/inputs.ts",
    "protocol/payloads/tools.ts",
    "computer/rules/rules.ts",
    "computer/rules/conditions.ts",
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
    rules: ruleKinds(docs),
  };
}

function ruleKinds(docs: InterfaceDocs): ConfigKinds["rules"] {
  const closed = (schema: z.core.$ZodType, name: string): JsonSchema => {
    const { $schema: _, ...kind } = toJsonSchema(schema);
    return { ...addDocs(kind, name, docs), additionalProperties: false };
  };
  const conditions = {
    ...closed(conditionsSchema, "Conditions"),
    minProperties: 1,
  };
  const file = closed(fileSchema, "FileArguments");
  const rule = closed(ruleSchema, "Rule");
  const { when, file: ownFile, ...others } = rule.properties ?? {};
  return {
    conditions,
    file,
    rule: {
      ...rule,
      properties: {
        ...others,
        when: {
          ...when,
          additionalProperties: { $ref: "#/definitions/conditions" },
        },
        file: {
          $ref: "#/definitions/file",
          ...(ownFile?.description !== undefined &&
            { description: ownFile.description }),
        },
      },
    },
  };
}

/**
 * Creates the JSON Schema of the configuration file, for editors.
 *
 * Requires of our own form all that the validators require, except what JSON Schema cannot express:
 * names equal to their keys, unique ids, valid VRL. The forms of other programs are accepted.
 */
export async function configSchema(): Promise<JsonSchema> {
  const { servers, inputs, rules } = await configKinds();
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
      rules: {
        description:
          "Rules about tool calls, in their order: the first that matches decides.",
        type: "array",
        items: { $ref: "#/definitions/rule" },
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
      ...rules,
    },
  };
}

/** Unknown fields are an error in our own form; in other forms they may belong to the program. */
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

/** Makes the name optional, since it is the key of the map. */
const withoutName = (server: JsonSchema): JsonSchema => ({
  ...server,
  required: server.required?.filter((field) => field !== "name") ?? [],
});

/** Refuses unknown fields, also in `server_parameters` and its `oauth`; metadata of tools stays open (protocol §4). */
function strict(kind: JsonSchema): JsonSchema {
  const { server_parameters, ...others } = kind.properties ?? {};
  const { oauth, ...parameters } = server_parameters?.properties ?? {};
  const closed = ifObject(oauth, (schema) => ({
    ...schema,
    additionalProperties: false,
  }));
  return {
    ...kind,
    properties: {
      ...others,
      ...(server_parameters && {
        server_parameters: {
          ...server_parameters,
          properties: { ...parameters, ...(closed && { oauth: closed }) },
          additionalProperties: false,
        },
      }),
    },
    additionalProperties: false,
  };
}

/** Changes the object of a field that may be null, too. */
const ifObject = (
  field: JsonSchema | undefined,
  change: (schema: JsonSchema) => JsonSchema,
): JsonSchema | undefined =>
  field && {
    ...field,
    anyOf: (field.anyOf ?? []).map((option) =>
      option.properties ? change(option) : option
    ),
  };

/** An entry of another program: it has the fields of `server_parameters` next to the type. */
const FOREIGN: JsonSchema = {
  type: "object",
  not: { required: ["server_parameters"] },
  anyOf: ["command", "url", "serverUrl", "httpUrl"].map((field) => ({
    required: [field],
  })),
};

/** Accepts additional fields of other programs. */
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

/** Adds the doc comments of the fields. */
function describe(kind: JsonSchema, docs: InterfaceDocs): JsonSchema {
  const found = INTERFACES[typeOf(kind)];
  if (!found) throw new Error(`Cannot describe "${typeOf(kind)}"`);
  if (!found.parameters) {
    const input = addDocs(
      addDocs(kind, "MCPServerInputBase", docs),
      found.own,
      docs,
    );
    const { options } = input.properties ?? {};
    // A rule of the Computer alone: other peers may send an empty list.
    return options
      ? {
        ...input,
        properties: {
          ...input.properties,
          options: { ...options, minItems: 1 },
        },
      }
      : input;
  }
  const own = addDocs(kind, found.own, docs);
  const { properties } = addDocs(own, "BaseMCPServerConfig", docs);
  const { server_parameters, tool_meta, default_tool_meta } = properties ?? {};
  const { bundle_id } = properties ?? {};
  const parameters = addDocs(server_parameters ?? {}, found.parameters, docs);
  const oauth = ifObject(
    parameters.properties?.oauth,
    (schema) => addDocs(schema, "OAuthClientParameters", docs),
  );
  return {
    ...own,
    properties: {
      ...properties,
      ...(bundle_id && {
        bundleId: {
          ...bundle_id,
          description: "Another spelling of `bundle_id`.",
        },
      }),
      server_parameters: {
        ...parameters,
        properties: { ...parameters.properties, ...(oauth && { oauth }) },
      },
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

/** Forbids an alias for all tools; a refinement of the validator that JSON Schema does not include. */
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
