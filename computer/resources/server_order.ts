/**
 * Orders MCP servers by recent use: those in the tool-call history, most recent first, then the
 * rest by name (spec §8.1, §8.4).
 *
 * @param servers in any order, without duplicates
 * @param history the server of each tool call, oldest first
 */
export function orderServers(
  servers: readonly string[],
  history: readonly string[],
): string[] {
  const known = new Set(servers);
  const recent = new Set(history.toReversed().filter((s) => known.has(s)));
  // By code units, not by locale, so that the order is the same on every machine.
  const rest = servers.filter((server) => !recent.has(server)).toSorted();
  return [...recent, ...rest];
}
