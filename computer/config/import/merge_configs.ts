import { isDeepStrictEqual } from "node:util";
import type { MCPServerConfig, MCPServerInput } from "../../../protocol/mod.ts";
import { isRecord } from "../../util/values.ts";
import type { ComputerConfig } from "../parse_config.ts";
import { ENVIRONMENT_ID, splitPlaceholders } from "../../util/inputs.ts";

/** A configuration to merge. */
export interface ForeignConfig {
  /** Appended to names that another configuration also uses. */
  readonly suffix: string;
  /** The configuration. */
  readonly config: ComputerConfig<MCPServerConfig>;
}

/** The result of a merge. */
export interface MergedConfig {
  /** The merged configuration. */
  readonly config: ComputerConfig<MCPServerConfig>;
  /** For each configuration, the new names of its MCP servers by their old names. */
  readonly names: readonly ReadonlyMap<string, string>[];
}

/**
 * Merges configurations. Equal entries are kept once; different ones with the same name get the
 * configuration's suffix. Of inputs for the same environment variable the first wins: renamed, it
 * would no longer find its variable.
 */
export function mergeConfigs(
  configs: readonly ForeignConfig[],
): MergedConfig {
  const inputs = new Map<string, MCPServerInput>();
  const servers = new Map<string, MCPServerConfig>();
  const names = configs.map(({ suffix, config }) => {
    const ids = new Map(config.inputs.map((input) => {
      if (input.id.startsWith(ENVIRONMENT_ID) && inputs.has(input.id)) {
        return [input.id, input.id];
      }
      const id = place(inputs, input.id, suffix, (id) => ({ ...input, id }));
      return [input.id, id];
    }));
    return new Map(config.servers.map((server) => {
      const own = renamePlaceholders(server, ids);
      const name = place(
        servers,
        server.name,
        suffix,
        (name) => ({ ...own, name }),
      );
      return [server.name, name];
    }));
  });
  return {
    config: { inputs: [...inputs.values()], servers: [...servers.values()] },
    names,
  };
}

/** Stores an item under the first name that is free or holds an equal item; returns the name. */
function place<T>(
  taken: Map<string, T>,
  name: string,
  suffix: string,
  make: (name: string) => T,
): string {
  for (let attempt = 0;; attempt++) {
    const wanted = attempt === 0
      ? name
      : attempt === 1
      ? `${name}-${suffix}`
      : `${name}-${suffix}-${attempt}`;
    const item = make(wanted);
    const holder = taken.get(wanted);
    if (holder !== undefined && !isDeepStrictEqual(holder, item)) continue;
    taken.set(wanted, item);
    return wanted;
  }
}

function renamePlaceholders<T extends MCPServerConfig>(
  server: T,
  ids: ReadonlyMap<string, string>,
): T {
  const server_parameters = rename(server.server_parameters, ids);
  return { ...server, server_parameters };
}

function rename<T>(value: T, ids: ReadonlyMap<string, string>): T;
function rename(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") {
    return splitPlaceholders(value).map((part) =>
      part.kind === "text"
        ? part.text
        : `\${input:${ids.get(part.id) ?? part.id}}`
    ).join("");
  }
  if (Array.isArray(value)) return value.map((item) => rename(item, ids));
  return isRecord(value)
    ? Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, rename(item, ids)]),
    )
    : value;
}
