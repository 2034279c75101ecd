import type { MCPServerConfig } from "../../protocol/mod.ts";
import { placeholderIds } from "../util/placeholders.ts";
import { sameJson } from "./same_json.ts";
import type { ComputerConfig } from "./parse_config.ts";

/** What leads from one configuration to another; servers that are in no list stay as they are. */
export interface ConfigChanges {
  /** New ones. */
  readonly add: readonly MCPServerConfig[];
  /** Those that differ, as they are to be. */
  readonly update: readonly MCPServerConfig[];
  /** Names of those that are gone. */
  readonly remove: readonly string[];
}

/**
 * Compares two configurations.
 *
 * A server differs when its own configuration does, or the definition of an input that it uses:
 * the value may be another one then. The order of keys and of servers does not matter.
 */
export function diffConfigs(
  before: ComputerConfig,
  after: ComputerConfig,
): ConfigChanges {
  const old = new Map(before.servers.map((server) => [server.name, server]));
  const names = new Set(after.servers.map(({ name }) => name));
  const oldInputs = new Map(before.inputs.map((input) => [input.id, input]));
  const newInputs = new Map(after.inputs.map((input) => [input.id, input]));
  const differs = (server: MCPServerConfig) =>
    !sameJson(old.get(server.name), server) ||
    placeholderIds(server.server_parameters).some((id) =>
      !sameJson(oldInputs.get(id), newInputs.get(id))
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
