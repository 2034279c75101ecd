import type { ConfigKinds, JsonSchema } from "./config_schema.ts";

/** The heading of each kind. */
const TITLES: Record<string, string> = {
  stdio: "A child process (`stdio`)",
  streamable: "Streamable HTTP (`streamable`, or `http`)",
  sse: "HTTP with SSE (`sse`)",
  promptString: "Somebody types it (`promptString`)",
  pickString: "Somebody picks it (`pickString`)",
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
export function configReference({ servers, inputs }: ConfigKinds): string {
  const [anyServer = {}] = Object.values(servers);
  const { server_parameters: _, type: __, ...common } = anyServer.properties ??
    {};
  const { tool_meta } = common;
  const meta = tool_meta?.additionalProperties;
  return [
    "### Every MCP server",
    table({ ...anyServer, properties: common }, ["name"]),
    "### `tool_meta` and `default_tool_meta`",
    table(typeof meta === "object" ? meta : {}),
    ...Object.entries(servers).flatMap(([kind, { properties }]) => [
      `### \`server_parameters\`: ${TITLES[kind]}`,
      table(properties?.server_parameters ?? {}),
    ]),
    ...Object.entries(inputs).flatMap(([kind, schema]) => [
      `### Input: ${TITLES[kind]}`,
      table(schema),
    ]),
  ].join("\n\n");
}

/**
 * Writes a table of the fields of an object.
 *
 * @param optional fields that may be omitted although the schema requires them
 */
function table(
  { properties = {}, required = [] }: JsonSchema,
  optional: readonly string[] = [],
): string {
  const rows = Object.entries(properties).map(([field, schema]) => {
    const needed = required.includes(field) && !optional.includes(field);
    const absent = needed
      ? "required"
      : schema.default === undefined
      ? ""
      : `\`${JSON.stringify(schema.default)}\``;
    return [`\`${field}\``, typeText(schema), absent, schema.description ?? ""];
  });
  return [["field", "value", "default", ""], ["-", "-", "-", "-"], ...rows]
    .map((cells) =>
      `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
    )
    .join("\n");
}
