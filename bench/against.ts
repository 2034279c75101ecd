import { access } from "node:fs/promises";
import { join } from "node:path";
import { type CallsRun, OURS, ratiosOf } from "./calls.ts";
import { answerTitle } from "./cases.ts";
import { type Contestant, ourServer, single } from "./contestants/mod.ts";
import { quartilesText } from "./statistics.ts";

const THEIRS = "theirs";
const SERVER = "server/main.ts";

/** The names of the Servers that {@linkcode againstCheckout} returns, in their turn. */
export const IN_TURN: readonly string[] = [THEIRS, OURS];

/**
 * Returns this package's Server, and that of another checkout, started in its folder.
 *
 * @param root folder of the other checkout
 * @throws {Error} when there is no Server in it
 */
export async function againstCheckout(
  root: string,
): Promise<Readonly<Record<string, Contestant>>> {
  await access(join(root, SERVER)).catch((cause) => {
    throw new Error(
      `Cannot compare with ${root}: it has no ${SERVER}; name the root of another checkout`,
      { cause },
    );
  });
  return {
    [THEIRS]: single(root, () => ({ ...ourServer(THEIRS, []), cwd: root })),
    [OURS]: single("this checkout", () => ourServer(OURS, [])),
  };
}

/** Compares the CPU of a call with the other checkout's, in rounds that have both. */
export const cpuAgainst = (runs: readonly CallsRun[]): string[] =>
  [...Map.groupBy(runs, ({ key }) => key)].flatMap(([key, mine]) => {
    const ratios = ratiosOf(mine, [OURS, THEIRS]);
    return ratios.length === 0 ? [] : [
      `${answerTitle(key)}, CPU of a call / the other's: ${
        quartilesText(ratios)
      }`,
    ];
  });
