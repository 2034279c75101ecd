import { closeSync, openSync, writeSync } from "node:fs";
import process from "node:process";
import { configureSync, type Sink } from "@logtape/logtape";
import type { LogSettings } from "./_log_flags.ts";
import type { AuditEvent } from "./audit.ts";
import { LineBuffer } from "./_line_buffer.ts";
import { jsonLine, prettyLine } from "./_log_lines.ts";

/** The message of the only lines that may wait for the end of a turn. */
const CALL: AuditEvent["event"] = "tool_call";

/** What marks LogTape's own synchronous sinks. */
const READS_AT_ONCE = Symbol.for("LogTape.sinkSnapshotPolicy.immediate");

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
  const lines = new LineBuffer((text) => {
    if (fd === undefined) process.stderr.write(text);
    else writeSync(fd, text);
  });
  process.on("exit", () => lines.flush());
  const write: Sink = (record) => {
    lines.add(line(record));
    // Calls are many. Everything else is there when the process ends, however it ends.
    if (record.rawMessage !== CALL) lines.flush();
  };
  // LogTape copies each record for a sink that may read it later.
  Object.defineProperty(write, READS_AT_ONCE, { value: true });
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
      lines.flush();
      const old = fd;
      fd = open(file);
      closeSync(old);
    },
  };
}

/** Names of members and addresses are nobody else's business. */
const open = (file: string): number => openSync(file, "a", 0o640);
