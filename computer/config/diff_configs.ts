import { isDeepStrictEqual } from "node:util";
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
 * Compares two configurations.
 *
 * A server has changed if its own configuration differs, or the definition of an input that it
 * uses, since the value may differ then. The order of keys and of servers is ignored.
 */
export function diffConfigs(
  before: ComputerConfig,
  after: ComputerConfig,
): ConfigChanges {
  const old = new Map(before.servers.map((server) => [server.name, server]));
  const names = new Set(after.servers.map(({ name }) => name));
  const oldInputs = new Map(before.inputs.map((input) => [input.id, input]));
  const newInputs = new Map(after.inputs.map((input) => [input.id, input]));
  const differs = (server: ServerConfig) =>
    !sameServerConfig(old.get(server.name), server) ||
    serverPlaceholders(server).some((id) =>
      !isDeepStrictEqual(oldInputs.get(id), newInputs.get(id))
    );
  return {
    add: after.servers.filter(({ name }) => !old.has(name)),
    update: after.servers.filter((server) =>
      old.has(server.name) && differs(server)
    ),
    remove: before.servers.map(({ name }) => name)
      .filter((name) => !names.has(name)),
  };
}
