import { access } from "node:fs/promises";
import { join } from "node:path";
import { type CallsRun, cpuOf } from "./calls.ts";
import { ratioOf } from "./calls_summary.ts";
import { type Contestant, CONTESTANTS, ourServer } from "./contestants/mod.ts";
import { payloadOf } from "./payloads.ts";
import { spreadText } from "./terminal_table.ts";

const OURS = "ours";
const OTHER = "other";

/** The names of the Servers that {@linkcode againstCheckout} returns, in their turn. */
export const IN_TURN: readonly string[] = [OTHER, OURS];

/**
 * Returns this package's Server, and that of another checkout, started in its folder.
 *
 * @param root folder of the other checkout
 * @throws {Error} when there is no Server in it
 */
export async function againstCheckout(
  root: string,
): Promise<Readonly<Record<string, Contestant>>> {
  const recipe = { ...ourServer(OTHER, []), cwd: root };
  await access(join(root, SERVER)).catch((cause) => {
    throw new Error(
      `Cannot compare with ${root}: it has no ${SERVER}; name the root of another checkout`,
      { cause },
    );
  });
  return {
    [OTHER]: { title: root, prepare: () => Promise.resolve(recipe) },
    [OURS]: CONTESTANTS[OURS]!,
  };
}

const SERVER = "server/main.ts";

/** Tells how much CPU a call costs in comparison with the other checkout, of rounds that have both. */
export const cpuAgainst = (runs: readonly CallsRun[]): string[] =>
  [...new Set(runs.map(({ key }) => key))].flatMap((key) => {
    const ratio = ratioOf(runs, key, [OURS, OTHER], cpuOf);
    return ratio === undefined
      ? []
      : [`${payloadOf(key).title}: ${spreadText(ratio)} × the CPU of a call`];
  });
