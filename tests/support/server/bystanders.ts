import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { start } from "../child.ts";
import type { BystanderReport } from "../fixtures/bystander_pair.ts";

/** The maximum time of a well-behaved client's call that the documentation promises, whatever others do. */
const MAX_CALL_MS = 1000;

const PAIR = fileURLToPath(
  new URL("../fixtures/bystander_pair.ts", import.meta.url),
);

/** An Agent and a Computer that make calls continuously, in a separate process. */
export interface Bystanders extends AsyncDisposable {
  /**
   * Waits for a call that starts after now, and asserts that no call so far failed, and none took
   * longer than a second.
   */
  check(): Promise<BystanderReport>;
  /** Resolves when a call takes longer than a second. */
  harmed(): Promise<void>;
}

/**
 * Starts a pair, and resolves after its first call.
 *
 * The process is separate, so that the test's own work does not count as the Server's delay.
 *
 * @param auth the `auth` of both
 * @param pid the Server's process id: time in which it waits for a processor does not count
 */
export async function startBystanders(
  url: string,
  auth: Readonly<Record<string, unknown>> = {},
  pid?: number,
): Promise<Bystanders> {
  let last: BystanderReport | undefined;
  let wake = Promise.withResolvers<void>();
  const child = start(Deno.execPath(), [
    ...["run", "-A", "--quiet", "--frozen", PAIR],
    ...[url, JSON.stringify(auth), String(pid ?? "")],
  ], {
    onLine(line) {
      if (line.startsWith("{")) last = JSON.parse(line);
      wake.resolve();
      wake = Promise.withResolvers();
    },
  });
  const ended = child.status.then(() => {
    throw new Error(`The bystanders ended: ${child.errors.join("\n")}`);
  });
  ended.catch(() => {});
  const reportWhere = async (
    isWanted: (report: BystanderReport) => boolean,
  ): Promise<BystanderReport> => {
    while (last === undefined || !isWanted(last)) {
      await Promise.race([wake.promise, ended]);
    }
    return last;
  };
  try {
    await reportWhere(({ calls }) => calls >= 1);
  } catch (error) {
    await child.stop();
    throw error;
  }
  return {
    async check() {
      const next = (last?.calls ?? 0) + 2;
      const report = await reportWhere(({ calls }) => calls >= next);
      assertEquals(report.failures, []);
      assert(
        report.slowestMs <= MAX_CALL_MS,
        `a bystander's call took ${Math.round(report.slowestMs)} ms`,
      );
      return report;
    },
    async harmed() {
      await reportWhere(({ slowestMs }) => slowestMs > MAX_CALL_MS);
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
