import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
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
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--quiet",
      "--frozen",
      PAIR,
      url,
      JSON.stringify(auth),
      String(pid ?? ""),
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let last: BystanderReport | undefined;
  let log = "";
  let over = false;
  let wake = Promise.withResolvers<void>();
  const changed = () => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  const read = async (
    stream: ReadableStream<Uint8Array>,
    take: (text: string) => void,
  ) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      take(text);
      changed();
    }
  };
  let rest = "";
  const exited = Promise.all([
    child.status,
    read(child.stdout, (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      const line = lines.at(-1);
      if (line !== undefined) last = JSON.parse(line);
    }),
    read(child.stderr, (text) => log += text),
  ]).then(() => {
    over = true;
    changed();
  });
  const reportWhere = async (
    isWanted: (report: BystanderReport) => boolean,
  ): Promise<BystanderReport> => {
    while (last === undefined || !isWanted(last)) {
      assert(!over, `The bystanders ended: ${log}`);
      await wake.promise;
    }
    return last;
  };
  const reportOf = (number: number) =>
    reportWhere(({ calls }) => calls >= number);
  const end = async () => {
    if (!over) await child.stdin.close().catch(() => {});
    await exited;
  };
  try {
    await reportOf(1);
  } catch (error) {
    await end();
    throw error;
  }
  return {
    async check() {
      const report = await reportOf((last?.calls ?? 0) + 2);
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
    [Symbol.asyncDispose]: end,
  };
}
