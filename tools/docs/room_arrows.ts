import { posix } from "node:path";

/** The folders with the code of the package. */
export const HOUSE = [
  "shared",
  "protocol",
  "client",
  "cli",
  "console",
  "agent",
  "server",
  "computer",
  "mcp",
  "testing",
];

const STATIC = /^(?:import|export)\b[^"';]*?(?:\bfrom\s*)?"(\.{1,2}\/[^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"(\.{1,2}\/[^"]+)"/g;
const COMMENT_LINE = /^\s*(?:\/\*\*|\*|\/\/).*$/gm;

/**
 * Determines which rooms import which, including type imports.
 *
 * @param sources the text of each file by its path from the repository's root
 * @param roomOf returns the room of a file; `undefined` skips the file
 * @returns the imported rooms of each room, sorted; rooms are in the order of their first files
 */
export function arrowsBetween(
  sources: ReadonlyMap<string, string>,
  roomOf: (path: string) => string | undefined,
): Map<string, string[]> {
  const arrows = new Map<string, Set<string>>();
  for (const [path, text] of sources) {
    const from = roomOf(path);
    if (from === undefined) continue;
    const targets = arrows.get(from) ?? new Set<string>();
    arrows.set(from, targets);
    for (const specifier of importsOf(text)) {
      const to = roomOf(posix.join(posix.dirname(path), specifier));
      if (to !== undefined && to !== from) targets.add(to);
    }
  }
  return new Map([...arrows].map(([room, to]) => [room, [...to].toSorted()]));
}

/** Returns the relative specifiers that a module imports or re-exports. */
function importsOf(text: string): string[] {
  const code = text.replaceAll(COMMENT_LINE, "");
  return [...code.matchAll(STATIC), ...code.matchAll(DYNAMIC)]
    .flatMap(([, specifier]) => specifier === undefined ? [] : [specifier]);
}

/** Returns the top-level folder of a file of the package; entrypoints in the root have no room. */
export function topRoomOf(path: string): string | undefined {
  const [top = "", ...rest] = path.split("/");
  return rest.length > 0 && HOUSE.includes(top) ? top : undefined;
}

/**
 * Creates a function that returns the room of a file within a role.
 *
 * @param role such as `server`; files outside its rooms belong to the room `.`, except
 *   `main.ts`, the command, which is above all rooms
 */
export const roomWithin =
  (role: string) => (path: string): string | undefined => {
    const [top, room = "", ...rest] = path.split("/");
    if (top !== role) return undefined;
    if (rest.length > 0 || room === "main.ts") return room;
    return ".";
  };

/**
 * Formats arrows as text, from the rooms that import nothing up to those that are not imported.
 *
 * Rooms of an import cycle have no order; they come last, by name.
 */
export function drawArrows(arrows: ReadonlyMap<string, string[]>): string {
  const left = new Map([...arrows].toSorted(([a], [b]) => a < b ? -1 : 1));
  const order: string[] = [];
  for (let found = true; found;) {
    found = false;
    for (const [room, targets] of left) {
      if (targets.some((target) => left.has(target))) continue;
      order.push(room);
      left.delete(room);
      found = true;
    }
  }
  order.push(...left.keys());
  const width = Math.max(...order.map((room) => room.length));
  return order.map((room) => {
    const targets = arrows.get(room) ?? [];
    return targets.length === 0
      ? room
      : `${room.padEnd(width)} → ${targets.join(", ")}`;
  }).join("\n");
}
