import { isDeepStrictEqual } from "node:util";
import {
  type MCPServerConfig,
  parseMCPServerConfig,
} from "../../../protocol/mod.ts";
import { splitPlaceholders } from "../../util/inputs.ts";
import type { ComputerConfig } from "../parse_config.ts";
import { redactConfig } from "../redact.ts";
import { REDACTED } from "../../util/secrets.ts";

/** Converts a configuration to the form that people write: without default values. */
export function toOwnFormat(
  { inputs, servers }: ComputerConfig<MCPServerConfig>,
): Record<string, unknown> {
  return {
    ...(inputs.length > 0 && { inputs }),
    servers: Object.fromEntries(
      servers.map((server) => [server.name, sparse(server)]),
    ),
  };
}

function sparse(
  { name: _, type, server_parameters, ...rest }: MCPServerConfig,
): Record<string, unknown> {
  const needed = "url" in server_parameters
    ? { url: server_parameters.url }
    : { command: server_parameters.command };
  const defaults = parseMCPServerConfig({
    name: "any",
    type,
    server_parameters: needed,
  });
  return {
    type,
    server_parameters: {
      ...needed,
      ...differing({ ...server_parameters }, { ...defaults.server_parameters }),
    },
    ...differing({ ...rest }, { ...defaults }),
  };
}

const differing = (
  value: Record<string, unknown>,
  defaults: Record<string, unknown>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(value).filter(([key, item]) =>
      !isDeepStrictEqual(item, defaults[key])
    ),
  );

/** Lists the paths of literal values that are redacted for Agents, such as `env.GITHUB_TOKEN` (spec §7). */
export function hiddenValues(server: MCPServerConfig): string[] {
  const shown = redactConfig([server], []).servers[server.name];
  return places(shown?.server_parameters, server.server_parameters, []);
}

function places(
  shown: unknown,
  value: unknown,
  path: readonly string[],
): string[] {
  if (typeof shown === "string") {
    return shown.includes(REDACTED) && !isScheme(`${value}`)
      ? [path.join(".")]
      : [];
  }
  return Object.entries(Object(shown)).flatMap(([key, item]) =>
    places(item, Object(value)[key], [...path, key])
  );
}

/** Matches the literal text before the placeholder in `Bearer ${input:token}`, also after a header's name. */
const SCHEME = /^([\w-]+:\s*)?(basic|bearer|token|api-?key)\s+$/i;

/** Returns whether the only literal text of a value is how HTTP names the kind of credentials. */
function isScheme(value: string): boolean {
  const [first, second, ...rest] = splitPlaceholders(value);
  return first?.kind === "text" && SCHEME.test(first.text) &&
    second?.kind === "placeholder" && rest.length === 0;
}
