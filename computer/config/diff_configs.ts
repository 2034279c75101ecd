import { isDeepStrictEqual } from "node:util";
import { bundleIdOf } from "./bundle_id.ts";
import {
  sameServerConfig,
  type ServerConfig,
  serverPlaceholders,
} from "./server_config.ts";
import type { ComputerConfig } from "./parse_config.ts";

/** The difference between two configurations; servers in none of the lists are unchanged. */
export interface ConfigChanges {
  /** New servers. */
  readonly add: readonly ServerConfig[];
  /** Changed servers, with their new configuration. */
  readonly update: readonly ServerConfig[];
  /** Names of removed servers. */
  readonly remove: readonly string[];
}

/**
 * Compares two configurations, in which no `bundle_id` is there twice.
 *
 * Servers are the same by their `bundle_id`, so that a new name alone replaces one in its place. A
 * server has changed if its own configuration differs, or the definition of an input that it
 * uses, since the value may differ then. The order of keys and of servers is ignored.
 */
export function diffConfigs(
  before: ComputerConfig,
  after: ComputerConfig,
): ConfigChanges & { readonly gone: readonly ServerConfig[] } {
  const old = new Map(before.servers.map((one) => [bundleIdOf(one), one]));
  const kept = new Set(after.servers.map(bundleIdOf));
  const gone = before.servers.filter((server) => !kept.has(bundleIdOf(server)));
  const oldInputs = new Map(before.inputs.map((input) => [input.id, input]));
  const newInputs = new Map(after.inputs.map((input) => [input.id, input]));
  const differs = (server: ServerConfig) =>
    !sameServerConfig(old.get(bundleIdOf(server)), server) ||
    serverPlaceholders(server).some((id) =>
      !isDeepStrictEqual(oldInputs.get(id), newInputs.get(id))
    );
  return {
    add: after.servers.filter((server) => !old.has(bundleIdOf(server))),
    update: after.servers.filter((server) =>
      old.has(bundleIdOf(server)) && differs(server)
    ),
    remove: gone.map(({ name }) => name),
    gone,
  };
}
