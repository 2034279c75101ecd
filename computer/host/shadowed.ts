import { bundleIdOf } from "../config/bundle_id.ts";
import type { ServerConfig } from "../config/server_config.ts";

/** Splits servers into the first of each `bundle_id`, and the others. */
export function splitById(
  configs: readonly ServerConfig[],
): { active: ServerConfig[]; shadowed: ServerConfig[] } {
  const taken = new Set<string>();
  const active: ServerConfig[] = [];
  const shadowed: ServerConfig[] = [];
  for (const config of configs) {
    const id = bundleIdOf(config);
    (taken.has(id) ? shadowed : active).push(config);
    taken.add(id);
  }
  return { active, shadowed };
}

/**
 * Describes a server that is not started, and how to have it started.
 *
 * @param holder the name of the server with its `bundle_id`
 */
export function shadowText(config: ServerConfig, holder: string): string {
  const bundleId = bundleIdOf(config);
  return `MCP server "${config.name}" is not started: "${holder}" comes first and has the same bundle_id, "${bundleId}"; give one of them a "bundle_id" of its own`;
}
