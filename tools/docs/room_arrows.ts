import { posix } from "node:path";

/** Where the package itself lies: the folders at the top that are published as code. */
export const HOUSE = [
  "shared",
  "protocol",
  "client",
  "cli",
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
 * Says which rooms import which, types included.
 *
 * @param sources the text of each file by its path from the repository's root
 * @param roomOf the room of a file; `undefined` leaves the file out
 * @returns for each room, in the order of the first files, the other rooms that it imports, sorted
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

/** The relative specifiers that a module imports or re-exports. */
function importsOf(text: string): string[] {
  const code = text.replaceAll(COMMENT_LINE, "");
  return [...code.matchAll(STATIC), ...code.matchAll(DYNAMIC)]
    .flatMap(([, specifier]) => specifier === undefined ? [] : [specifier]);
}

/** The folder at the top that a file of the package lies in; the front doors are of no room. */
export function topRoomOf(path: string): string | undefined {
  const [top = "", ...rest] = path.split("/");
  return rest.length > 0 && HOUSE.includes(top) ? top : undefined;
}

/**
 * Makes the function that says in which room of one role a file lies.
 *
 * @param role such as `server`; its own files, beside the rooms, are the room `.`, but for
 *   `main.ts`, the command, which stands above all
 */
export const roomWithin =
  (role: string) => (path: string): string | undefined => {
    const [top, room = "", ...rest] = path.split("/");
    if (top !== role) return undefined;
    if (rest.length > 0 || room === "main.ts") return room;
    return ".";
  };

/**
 * Draws arrows as text, from the rooms that import nothing up to those that nobody imports.
 *
 * Rooms in a circle have no order; they come last, by name.
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
