/**
 * The configuration that a Computer loads: stricter than what an Agent sees of it, since every mistake
 * is an error.
 *
 * @module
 */
import {
  base,
  type BaseMCPServerConfig,
  hasPlaceholder,
  type MCPServerConfig,
  sse,
  stdio,
  streamable,
  TOOL_PREFIX,
  toolPrefix,
} from "./config.ts";
import { inputSchema, type MCPServerInput } from "./inputs.ts";
import { toolMetaSchema } from "./tools.ts";
import * as z from "../validation.ts";

// JSON Schema cannot see a refinement.
z.globalRegistry.add(z.identifier, { minLength: 1, maxLength: 256 })
  .add(z.bundleId, { pattern: z.BUNDLE_ID.source })
  .add(base.name, { maxLength: 256 })
  .add(toolPrefix, { pattern: `\\$\\{|${TOOL_PREFIX.source}` });

const strictUrl = z.string().check(z.refine(
  (url) =>
    hasPlaceholder(url) || /^https?:\/\/[^/?#]/i.test(url) && URL.canParse(url),
  "expected an http: or https: URL",
)).register(z.globalRegistry, {
  pattern: "\\$\\{|^[hH][tT][tT][pP][sS]?://[^/?#]",
});

const strictDuration = z.string().check(z.refine((text) => {
  if (hasPlaceholder(text)) return true;
  try {
    return z.parseDuration(text) > 0;
  } catch {
    return false;
  }
}, 'expected an ISO 8601 duration above zero, such as "PT30S"')).register(
  z.globalRegistry,
  { pattern: `\\$\\{|${z.ISO_DURATION.source}` },
);

const filled = z.string().check(z.minLength(1));

/** The client as which a Computer signs in. */
const oauthClient = z.looseObject({
  client_id: z.maybe(filled),
  client_secret: z.maybe(filled),
  scopes: z.maybe(z.listOf(filled)),
  callback_port: z.maybe(z.int().check(z.minimum(1), z.maximum(65535))),
}).check(z.refine(
  ({ client_id, client_secret }) =>
    (client_secret ?? null) === null ||
    (client_id ?? null) !== null && !/^https:\/\//i.test(client_id ?? ""),
  {
    path: ["client_secret"],
    message:
      'a secret belongs to a "client_id" that is no https: address; set that, or leave the secret out',
  },
));

const noSharedAlias = <
  C extends Pick<BaseMCPServerConfig, "default_tool_meta">,
>() =>
  z.refine<C>(
    ({ default_tool_meta }) => (default_tool_meta?.alias ?? null) === null,
    {
      path: ["default_tool_meta", "alias"],
      message:
        "one alias cannot serve every tool; set it per tool in tool_meta instead",
    },
  );

/** @internal The configuration of an MCP server. */
export const mcpServerConfigSchema = z.discriminatedUnion("type", [
  stdio,
  streamable(strictUrl, strictDuration, z.nullable(oauthClient)),
  sse(strictUrl, z.nullable(oauthClient)),
]).check(noSharedAlias());

/** @internal What every kind of MCP server has, those that are not of the wire too. */
export const baseServerConfigSchema = z.looseObject(base)
  .check(noSharedAlias());

/** Parses an {@linkcode MCPServerConfig} of a configuration file: fills in defaults, and accepts `http` for `streamable`. */
export const parseMCPServerConfig: z.Parser<MCPServerConfig> = z.parser(
  mcpServerConfigSchema,
);

/** @internal */
export const inputsSchema = z.array(inputSchema).check(z.superRefine(
  (inputs, context) => {
    const seen = new Set<string>();
    inputs.forEach(({ id }, i) => {
      if (seen.has(id)) {
        context.addIssue({
          code: "custom",
          path: [i, "id"],
          message: `"${id}" is defined twice; ids are unique across all inputs`,
        });
      }
      seen.add(id);
    });
  },
));

/** Parses a list of {@linkcode MCPServerInput}, whose ids must be unique (protocol §4). */
export const parseMCPServerInputs: z.Parser<MCPServerInput[]> = z.parser(
  inputsSchema,
);

/** The fields of one kind of MCP server. */
export interface ServerFields {
  /** Beside `type`. */
  readonly own: readonly string[];
  /** In `server_parameters`. */
  readonly parameters: readonly string[];
}

/** Maps each value of `type` to what is made of its option of a union. */
const byType = <O extends z.ZodMiniObject, T>(
  options: readonly O[],
  make: (option: O) => T,
): ReadonlyMap<unknown, T> =>
  new Map(options.flatMap((option) => {
    const types = [...option._zod.propValues?.type ?? []];
    return types.map((type): [unknown, T] => [type, make(option)]);
  }));

/** By the `type` of an MCP server, including `http`. */
export const serverFields: ReadonlyMap<unknown, ServerFields> = byType(
  mcpServerConfigSchema._zod.def.options,
  ({ shape }) => ({
    own: Object.keys(shape),
    parameters: Object.keys(shape.server_parameters.shape),
  }),
);

/** The common fields of all kinds of MCP servers, except `type`. */
export const baseServerFields: readonly string[] = Object.keys(
  baseServerConfigSchema.shape,
);

/** By the `type` of an input. */
export const inputFields: ReadonlyMap<unknown, readonly string[]> = byType(
  inputSchema._zod.def.options,
  ({ shape }) => Object.keys(shape),
);

/** The fields of `oauth` in `server_parameters`. */
export const oauthFields: readonly string[] = Object.keys(oauthClient.shape);

/** The known fields of `tool_meta` and `default_tool_meta`; later versions may add more. */
export const toolMetaFields: readonly string[] = Object.keys(
  toolMetaSchema.shape,
);
