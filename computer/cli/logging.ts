import { configure, getTextFormatter } from "@logtape/logtape";
import { fstatSync } from "node:fs";
import { Socket } from "node:net";
import process from "node:process";
import { reasonOf } from "../util/values.ts";
import { LineQueue } from "../../cli/line_queue.ts";
import { surviveUncaught } from "../../cli/uncaught.ts";
import { patientStream } from "../../cli/patient_stream.ts";
import { hideSecrets } from "../util/hide_secrets.ts";
import { log } from "../util/log.ts";

/** Sends what the package logs from warnings on to a writer of lines. */
export async function logTo(write: (line: string) => void): Promise<void> {
  const format = getTextFormatter();
  await configure({
    reset: true,
    sinks: { lines: (record) => write(hideSecrets(format(record).trimEnd())) },
    loggers: [
      { category: ["a2c-smcp"], lowestLevel: "warning", sinks: ["lines"] },
      {
        category: ["logtape", "meta"],
        lowestLevel: "warning",
        sinks: ["lines"],
      },
    ],
  });
}

let stderr: LineQueue | undefined;

/**
 * Writes a line of the log where it does not mix with results, and waits for nobody who reads it:
 * see {@linkcode LineQueue}.
 */
export function toStderr(line: string): void {
  stderr ??= new LineQueue(
    sharesOutput() ? process.stderr : patientStream(process.stderr, Socket),
    {
      leftOut: (lines) =>
        `${lines} lines were left out here: nobody read them\n`,
    },
  );
  stderr.add(`${line}\n`);
}

/** Whether stdout is the same pipe: it must go on to wait for its reader, lest results get lost. */
function sharesOutput(): boolean {
  if (process.stderr.isTTY) return false;
  const [out, err] = [fstatSync(1), fstatSync(2)];
  return out.dev === err.dev && out.ino === err.ino;
}

/** Resolves when what was logged is written, or after a second in which nobody read it. */
export const logWritten = async (): Promise<void> =>
  await stderr?.flush(FLUSH_MS);

/** How long the end of a command waits for who reads its log. */
const FLUSH_MS = 1000;

/** Lets no fault of one MCP server end the others. */
export const survive = (): void =>
  surviveUncaught((error) =>
    log.error("Unexpected: {reason}", { reason: reasonOf(error) })
  );
