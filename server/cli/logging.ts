import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import process from "node:process";
import { configureSync, type LogRecord, type Sink } from "@logtape/logtape";
import { LineQueue } from "../../cli/line_queue.ts";
import { patientStream } from "../../cli/patient_stream.ts";
import type { LogSettings } from "./log_flags.ts";
import type { AuditEvent } from "../shared/audit.ts";
import { LineBuffer } from "./line_buffer.ts";
import { jsonLine, prettyLine } from "./log_lines.ts";

/** The message of the only lines that may wait for the end of a turn. */
const CALL: AuditEvent["event"] = "tool_call";

/** What marks LogTape's own synchronous sinks. */
const READS_AT_ONCE = Symbol.for("LogTape.sinkSnapshotPolicy.immediate");

/** How long the end of the process waits for who reads the log. */
const FLUSH_TIMEOUT_MS = 1000;

/** Where the command's log goes. */
export interface Logging {
  /** Opens the log file again, for a tool that moved it away; without one nothing happens. */
  reopen(): void;
  /** Resolves when all lines are written, or after a second in which nobody read them. */
  flush(): Promise<void>;
}

/** Takes text, and how many lines it has. */
interface Target {
  write(text: string, lines: number): void;
  reopen(): void;
  flush(): Promise<void>;
}

/**
 * Sets up the log of the process, of its libraries too.
 *
 * Lines to a file are written at once, and none is lost: a disk does not stop, as the reader of a
 * pipe or a terminal can. Those to stderr wait for nobody, see {@linkcode LineQueue}.
 *
 * @throws when the file cannot be opened
 */
export function startLogging({ level, format, file }: LogSettings): Logging {
  const onTerminal = file === undefined && process.stderr.isTTY === true;
  const line = (format ?? (onTerminal ? "pretty" : "json")) === "pretty"
    ? prettyLine
    : jsonLine;
  const target = file === undefined ? toStderr(line) : toFile(file);
  const lines = new LineBuffer((text, count) => target.write(text, count));
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
      lines.flush();
      target.reopen();
    },
    async flush() {
      lines.flush();
      await target.flush();
    },
  };
}

function toStderr(line: (record: LogRecord) => string): Target {
  const queue = new LineQueue(patientStream(process.stderr, Socket), {
    leftOut: (omitted) => line(leftOut(omitted)),
  });
  return {
    write: (text, lines) => queue.add(text, lines),
    reopen() {},
    flush: () => queue.flush(FLUSH_TIMEOUT_MS),
  };
}

/** What stands for lines that nobody read in time. */
function leftOut(omitted: number): LogRecord {
  const rawMessage = "Lines were left out here: nobody read the log";
  return {
    category: ["a2c-smcp", "server"],
    level: "warning",
    message: [rawMessage],
    rawMessage,
    timestamp: Date.now(),
    properties: { omitted },
  };
}

function toFile(file: string): Target {
  let fd = open(file);
  return {
    write(text) {
      writeSync(fd, text);
    },
    reopen() {
      const old = fd;
      fd = open(file);
      closeSync(old);
    },
    flush: () => Promise.resolve(),
  };
}

function open(file: string): number {
  const kind = statSync(file, { throwIfNoEntry: false });
  if (kind?.isFIFO() || kind?.isSocket()) {
    throw new TypeError(
      "cannot log to a pipe with --log-file: its reader could stop the server; leave it out, and take the log from stderr",
    );
  }
  // Names of members and addresses are nobody else's business.
  return openSync(file, "a", 0o640);
}
