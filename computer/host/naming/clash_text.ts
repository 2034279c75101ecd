import type { NamedTool } from "./tool_naming.ts";

/** Describes a clash and how to resolve it (spec §7.7). */
export function clashText(
  name: string,
  claimants: readonly NamedTool[],
): string {
  const labels = labelsOf(claimants);
  const who = claimants.map(({ server: { bundleId }, tool }) =>
    `MCP server "${labels.get(bundleId)}"` +
    (tool.name === name ? "" : ` (its tool "${tool.name}")`)
  );
  const last = claimants.at(-1);
  return `More than one tool is named "${name}": ${who.join(" and ")}; ` +
    (labels.size === 1
      ? 'give one of them another "alias" in its tool_meta'
      : `give one of them an alias, such as tool_meta: {"${last?.tool.name}": {"alias": "${last?.server.name}_${name}"}} of "${
        labels.get(last?.server.bundleId ?? "")
      }", or its server a tool_prefix`);
}

/** Returns what people call each server, by `bundle_id`, which is part of it where names are equal. */
function labelsOf(claimants: readonly NamedTool[]): Map<string, string> {
  const servers = new Map(
    claimants.map(({ server }) => [server.bundleId, server.name]),
  );
  const isUnique = new Set(servers.values()).size === servers.size;
  return isUnique ? servers : new Map(
    [...servers].map(([id, name]) => [id, `${name} (${id})`]),
  );
}

/** Maximum number of clashing names to write out. */
const MAX_SHOWN_NAMES = 5;

/**
 * Describes all clashes; servers with many names in common, such as the same server twice, get one
 * sentence.
 */
export function clashTexts(
  clashes: ReadonlyMap<string, readonly NamedTool[]>,
): string[] {
  const groups = Map.groupBy(
    clashes,
    ([, claimants]) => JSON.stringify([...labelsOf(claimants).values()]),
  );
  return [...groups].flatMap(([key, group]) => {
    const servers: string[] = JSON.parse(key);
    const last = servers.at(-1);
    if (group.length === 1 || servers.length === 1 || last === undefined) {
      return group.map(([name, claimants]) => clashText(name, claimants));
    }
    const names = group.map(([name]) => name);
    const shown = names.slice(0, MAX_SHOWN_NAMES).join(", ");
    return [
      `MCP servers ${
        servers.map((name) => `"${name}"`).join(" and ")
      } have ${names.length} tools of the same names, and none of these can be called: ${shown}${
        names.length > MAX_SHOWN_NAMES ? ", …" : ""
      }; give them a prefix, such as "tool_prefix": "auto" of "${last}"`,
    ];
  });
}
