import { closeSync, openSync, writeSync } from "node:fs";
import process from "node:process";
import { configureSync, type Sink } from "@logtape/logtape";
import type { LogSettings } from "./_log_flags.ts";
import { jsonLine, prettyLine } from "./_log_lines.ts";

/** Where the command's log goes. */
export interface Logging {
  /** Opens the log file anew, for a tool that moved it away; without one nothing happens. */
  reopen(): void;
}

/**
 * Sets up the log of the process, of its libraries too.
 *
 * @throws when the file can not be opened
 */
export function startLogging({ level, format, file }: LogSettings): Logging {
  const onTerminal = file === undefined && process.stderr.isTTY === true;
  const line = (format ?? (onTerminal ? "pretty" : "json")) === "pretty"
    ? prettyLine
    : jsonLine;
  let fd = file === undefined ? undefined : open(file);
  // Synchronous: what is written is there when the process ends, however it ends.
  const write: Sink = (record) => {
    if (fd === undefined) process.stderr.write(line(record));
    else writeSync(fd, line(record));
  };
  configureSync({
    sinks: { write },
    loggers: [
      { category: ["a2c-smcp"], lowestLevel: level, sinks: ["write"] },
      {
        category: ["logtape", "meta"],
        lowestLevel: "warning",
        sinks: ["write"],
      },
    ],
  });
  return {
    reopen() {
      if (file === undefined || fd === undefined) return;
      const old = fd;
      fd = open(file);
      closeSync(old);
    },
  };
}

/** Names of members and addresses are nobody else's business. */
const open = (file: string): number => openSync(file, "a", 0o640);
