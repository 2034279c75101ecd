import type { ConfigKinds, JsonSchema } from "./config_schema.ts";

/** The heading of each kind. */
const TITLES: Record<string, string> = {
  stdio: "A child process (`stdio`)",
  streamable: "Streamable HTTP (`streamable`, or `http`)",
  sse: "HTTP with SSE (`sse`)",
  promptString: "Typed by a person (`promptString`)",
  pickString: "Picked by a person (`pickString`)",
  command: "A command prints it (`command`)",
};

/** Describes briefly what a value may be. */
export function typeText(schema: JsonSchema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) {
    return schema.enum.map((value) => `\`${JSON.stringify(value)}\``)
      .join(" or ");
  }
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return [...new Set(options.map(typeText))].join(" or ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => typeText({ ...schema, type })).join(
      " or ",
    );
  }
  if (schema.type === "array") return `list of ${typeText(schema.items ?? {})}`;
  if (schema.type === "object" && !schema.properties) {
    const { additionalProperties: values } = schema;
    return typeof values === "object" && Object.keys(values).length > 0
      ? `map of ${typeText(values)}`
      : "object";
  }
  return String(schema.type ?? "anything");
}

/** Writes the reference of the configuration file as Markdown. */
export function configReference(
  { servers, inputs, rules }: ConfigKinds,
): string {
  const [anyServer = {}] = Object.values(servers);
  const { server_parameters: _, type: __, ...common } = anyServer.properties ??
    {};
  const { tool_meta } = common;
  const meta = tool_meta?.additionalProperties;
  const { oauth } =
    servers.streamable?.properties?.server_parameters?.properties ?? {};
  const shared = sharedFields(Object.values(inputs));
  return [
    "### Every MCP server",
    fieldList({ ...anyServer, properties: common }, ["name"]),
    "### `tool_meta` and `default_tool_meta`",
    fieldList(typeof meta === "object" ? meta : {}),
    ...Object.entries(servers).flatMap(([kind, { properties }]) => [
      `### \`server_parameters\`: ${TITLES[kind]}`,
      fieldList(properties?.server_parameters ?? {}),
    ]),
    "### `oauth` in `server_parameters`",
    fieldList(oauth?.anyOf?.[0] ?? {}),
    "### Every input",
    fieldList(shared),
    ...Object.entries(inputs).flatMap(([kind, schema]) => [
      `### Input: ${TITLES[kind]}`,
      fieldList(
        without(schema, ["type", ...Object.keys(shared.properties ?? {})]),
      ),
    ]),
    "### Every rule",
    fieldList(rules.rule),
    "### Conditions in `when`",
    fieldList(rules.conditions),
    "### `file` of a rule",
    fieldList(rules.file),
  ].join("\n\n");
}

/** The fields that all of some objects have alike. */
function sharedFields(
  [first = {}, ...others]: readonly JsonSchema[],
): JsonSchema {
  const isShared = ([name, schema]: [string, JsonSchema]) =>
    others.every(({ properties = {} }) =>
      JSON.stringify(properties[name]) === JSON.stringify(schema)
    );
  const shared = Object.entries(first.properties ?? {}).filter(isShared);
  return { ...first, properties: Object.fromEntries(shared) };
}

const without = (schema: JsonSchema, names: readonly string[]): JsonSchema => ({
  ...schema,
  properties: Object.fromEntries(
    Object.entries(schema.properties ?? {})
      .filter(([name]) => !names.includes(name)),
  ),
});

/**
 * Writes a list of the fields of an object.
 *
 * @param optional fields that may be omitted although the schema requires them
 */
function fieldList(
  { properties = {}, required = [] }: JsonSchema,
  optional: readonly string[] = [],
): string {
  return Object.entries(properties).map(([field, schema]) => {
    const needed = required.includes(field) && !optional.includes(field);
    const absent = needed
      ? ", required"
      : schema.default === undefined || schema.default === null
      ? ""
      : `, default \`${JSON.stringify(schema.default)}\``;
    const type = typeText(schema).replaceAll(" or null", "");
    return `- \`${field}\` (${type}${absent}): ${schema.description ?? ""}`;
  }).join("\n");
}
