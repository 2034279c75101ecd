import type { Mutant } from "./mutants.ts";

/** What became of a mutant. */
export type Fate =
  /** Tests failed, or did not end. */
  | "noticed"
  /** The tests that run its line passed. */
  | "not noticed"
  /** No test runs its line. */
  | "not run"
  /** The time was over before; it does not count. */
  | "not reached";

/** A mutant of a room, or of another path, and what became of it. */
export interface Tried {
  readonly room: string;
  readonly mutant: Mutant;
  readonly fate: Fate;
}

/** What tests noticed of a room. */
export interface Share {
  readonly room: string;
  readonly tried: number;
  readonly noticed: number;
  readonly notReached: number;
  /** 0 to 1; `undefined` where nothing was tried. */
  readonly share: number | undefined;
  readonly floor: number;
}

/** Shows a mutant as a difference, below its place and id. */
export const showMutant = (
  { id, path, kind, line, before, after }: Mutant,
  room: string,
  note = "",
): string =>
  [
    `${path}:${line}  ${room}, ${kind}, ${id}${note && `, ${note}`}`,
    ...before.map((text) => `- ${text}`),
    ...after.map((text) => `+ ${text}`),
    "",
  ].join("\n");

/**
 * Counts what was noticed, by room, in the order of their floors.
 *
 * @param floors the floor of each room
 */
export const countShares = (
  tried: readonly Tried[],
  floors: Readonly<Record<string, number>>,
): Share[] =>
  Object.entries(floors).map(([room, floor]) => {
    const fates = tried.filter((one) => one.room === room)
      .map(({ fate }) => fate);
    const count = (of: Fate) => fates.filter((fate) => fate === of).length;
    const notReached = count("not reached");
    const counted = fates.length - notReached;
    const noticed = count("noticed");
    const share = counted === 0 ? undefined : noticed / counted;
    return { room, tried: counted, noticed, notReached, share, floor };
  });

/** Whether tests noticed less than they must. */
export const isLow = ({ share, floor }: Share): boolean =>
  share !== undefined && share < floor;

/** Shows the shares as a table. */
export function showShares(shares: readonly Share[]): string {
  const percent = (share: number) => `${Math.floor(share * 100)} %`;
  const rows = shares.map((row) => [
    row.room,
    `${row.tried}`,
    `${row.noticed}`,
    `${row.tried - row.noticed}`,
    row.share === undefined ? "" : percent(row.share),
    `${percent(row.floor)}${isLow(row) ? ": too few" : ""}`,
    row.notReached === 0 ? "" : `${row.notReached} not reached`,
  ]);
  const head = ["room", "mutants", "noticed", "not noticed", "share", "floor"];
  const table = [head, ...rows];
  const widthOf = (column: number) =>
    Math.max(...table.map((cells) => cells[column]?.length ?? 0));
  return table.map((cells) =>
    cells.map((cell, column) =>
      column === 0 ? cell.padEnd(widthOf(0)) : cell.padStart(widthOf(column))
    ).join("  ").trimEnd()
  ).join("\n");
}
