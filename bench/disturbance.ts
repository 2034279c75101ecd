/**
 * The floor does the same in every round. Where its CPU per call is far apart, other work disturbed
 * the machine: that load is measured again, and not published if it stays so.
 *
 * @module
 */
import type { BroadcastRow } from "./broadcast.ts";
import type { CallsRow } from "./calls_summary.ts";
import type { IdleRow } from "./idle.ts";
import type { Found, Part } from "./report/report.ts";
import type { Tools } from "./tools.ts";

/** Most by which the floor's rounds may be apart, range over median. */
export const MOST_APART = 0.25;

/** Times that a disturbed measurement is repeated. */
const REPETITIONS = 2;

/** The part of a result that says whether it was disturbed. */
export interface Steadiness {
  /** How far the floor's CPU was apart; absent without a floor. */
  readonly floorSpread?: number;
}

/** Returns whether other work disturbed a result. */
export const isDisturbed = ({ floorSpread = 0 }: Steadiness): boolean =>
  floorSpread > MOST_APART;

/** Formats how far the floor's rounds were apart. */
export const apartText = ({ floorSpread = 0 }: Steadiness): string =>
  `${(100 * floorSpread).toFixed(0)} %`;

/** Says of each disturbed load of a part why it is not published, and what to do. */
export function disturbancesOf<P extends Part>(
  part: P,
  found: Found[P],
): string[] {
  const rows: readonly (CallsRow | BroadcastRow | IdleRow)[] =
    Array.isArray(found) ? found : [];
  const lines = rows.flatMap((row) =>
    "floorSpread" in row && isDisturbed(row)
      ? [
        `${part}, ${
          "key" in row ? row.key : row.members
        }: disturbed, the floor's CPU spread over ${
          apartText(row)
        }, more than ${100 * MOST_APART} %, so it is not written; ` +
        `stop what else runs, then \`deno task bench --parts ${part}\``,
      ]
      : []
  );
  return [...new Set(lines)];
}

/** Returns a result without the loads that were disturbed. */
export function withoutDisturbed<F>(found: F): F;
export function withoutDisturbed(found: unknown): unknown {
  return Array.isArray(found)
    ? found.filter((row: Steadiness) => !isDisturbed(row))
    : found;
}

/** Measures something, and repeats it while it was disturbed, a few times at most. */
export async function undisturbed<R extends Steadiness>(
  { tell }: Pick<Tools, "tell">,
  measure: () => Promise<R[]>,
  left = REPETITIONS,
): Promise<R[]> {
  const rows = await measure();
  const disturbed = rows.find(isDisturbed);
  if (disturbed === undefined || left === 0) return rows;
  tell(`disturbed, the floor's CPU spread over ${apartText(disturbed)}; again`);
  return undisturbed({ tell }, measure, left - 1);
}
