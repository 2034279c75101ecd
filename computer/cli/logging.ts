import { configure, getTextFormatter } from "@logtape/logtape";
import { fstatSync } from "node:fs";
import { Socket } from "node:net";
import process from "node:process";
import { reasonOf } from "../util/values.ts";
import { fieldsText, LineQueue, patientStream } from "../../cli/output.ts";
import { plainLines } from "../../cli/terminal_text.ts";
import { surviveUncaught } from "../../cli/listen.ts";
import { hideSecrets } from "../util/secrets.ts";
import { log } from "../util/log.ts";

/** Passes warnings and errors of the package's log to `write`. */
export async function logTo(write: (line: string) => void): Promise<void> {
  const format = getTextFormatter();
  await configure({
    reset: true,
    sinks: {
      // The Server of `up` has the fields of its audit log in no message.
      lines: (record) => {
        const line = format(record).trimEnd() + fieldsText(record);
        write(plainLines(hideSecrets(line)));
      },
    },
    loggers: [["a2c-smcp"], ["logtape", "meta"]].map((category) => ({
      category,
      lowestLevel: "warning",
      sinks: ["lines"],
    })),
  });
}

let stderr: LineQueue | undefined;

/**
 * Writes a line of the log to stderr without waiting for its reader; see {@linkcode LineQueue}.
 */
export function toStderr(line: string): void {
  stderr ??= new LineQueue(
    sharesOutput() ? process.stderr : patientStream(process.stderr, Socket),
    {
      leftOut: (lines) =>
        `${lines} lines were left out here: the reader was too slow\n`,
    },
  );
  stderr.add(`${line}\n`);
}

/** Checks whether stdout is the same pipe, which must keep waiting for its reader: results must not get lost. */
function sharesOutput(): boolean {
  if (process.stderr.isTTY) return false;
  const out = fstatSync(1);
  const err = fstatSync(2);
  return out.dev === err.dev && out.ino === err.ino;
}

/** Resolves when the log is written, or after a second in which nothing was read. */
export const logWritten = async (): Promise<void> =>
  await stderr?.flush(FLUSH_TIMEOUT_MS);

/** How long the end of a command waits for the reader of its log. */
const FLUSH_TIMEOUT_MS = 1000;

/** Keeps the process running after uncaught errors, and logs them. */
export const survive = (): void =>
  surviveUncaught((error) =>
    log.error("Unexpected: {reason}", { reason: reasonOf(error) })
  );
