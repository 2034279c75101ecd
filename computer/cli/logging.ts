import { configure, getTextFormatter } from "@logtape/logtape";
import process from "node:process";
import { reasonOf } from "../_values.ts";
import {
  isClosedOutput,
  outliveOutput,
} from "../../protocol/cli/closed_output.ts";
import { log } from "../log.ts";

/** Sends what the package logs from warnings on to a writer of lines. */
export async function logTo(write: (line: string) => void): Promise<void> {
  const format = getTextFormatter();
  await configure({
    reset: true,
    sinks: { lines: (record) => write(format(record).trimEnd()) },
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

/** Writes a line of the log where it does not mix with results. */
export const toStderr = (line: string): void =>
  void process.stderr.write(`${line}\n`);

/** Lets no fault of one MCP server end the others, and no closed terminal keep the end from coming. */
export function survive(): void {
  outliveOutput(process.stdout, process.stderr);
  const onFault = (error: unknown) => {
    if (isClosedOutput(error)) return; // the log would fail like what is to be logged
    log.error("Unexpected: {reason}", { reason: reasonOf(error) });
  };
  process.on("uncaughtException", onFault);
  process.on("unhandledRejection", onFault);
}
