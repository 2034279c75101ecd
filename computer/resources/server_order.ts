/**
 * Orders MCP servers by what is being worked on: those of the tool-call history first, the most
 * recent first, then the rest by name (spec §8.1, §8.4).
 *
 * @param servers in any order, each once
 * @param history the server of each tool call, the oldest first
 */
export function orderServers(
  servers: readonly string[],
  history: readonly string[],
): string[] {
  const known = new Set(servers);
  const recent = new Set(history.toReversed().filter((s) => known.has(s)));
  // Code units, not a locale: the order is the same on every machine.
  const rest = servers.filter((server) => !recent.has(server)).toSorted();
  return [...recent, ...rest];
}
