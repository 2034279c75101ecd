import type { MCPServerConfig } from "../../../protocol/mod.ts";
import { bundleIdOf } from "../bundle_id.ts";

/** Gives a `bundle_id` to each MCP server that another one before it would keep from starting. */
export function distinctIds(
  servers: readonly MCPServerConfig[],
): { servers: MCPServerConfig[]; identified: string[] } {
  const ids = servers.map(bundleIdOf);
  const taken = new Set<string>();
  const identified: string[] = [];
  const distinct = servers.map((server, i) => {
    const id = ids[i] ?? "";
    if (!taken.has(id)) {
      taken.add(id);
      return server;
    }
    const bundle_id = firstFree(id, new Set([...ids, ...taken]));
    taken.add(bundle_id);
    identified.push(server.name);
    return { ...server, bundle_id };
  });
  return { servers: distinct, identified };
}

function firstFree(id: string, taken: ReadonlySet<string>): string {
  for (let i = 2;; i++) {
    if (!taken.has(`${id}-${i}`)) return `${id}-${i}`;
  }
}
