/**
 * The log of `smcp-server`: records of LogTape become lines, JSON or pretty; the lines of requests are
 * collected for one turn of the event loop; a file is written synchronously, stderr without ever
 * blocking.
 *
 * @module
 */
import type { ServerFlags } from "./flags.ts";
import process from "node:process";
import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { Socket } from "node:net";
import { configureSync, type LogRecord, type Sink } from "@logtape/logtape";
import { setImmediate } from "node:timers";
import { unwritable } from "../../cli/explain_failure.ts";
import { fieldsText, LineQueue, patientStream } from "../../cli/output.ts";
import type { AuditEvent } from "../shared/audit.ts";
import { plainJson } from "../../cli/print.ts";
import { plain } from "../../cli/terminal_text.ts";
import {
  jsonLine,
  messageOf,
  plain as plainValue,
  timeOf,
} from "../shared/log.ts";

/** The messages of the only lines that may wait for the end of a turn of the event loop. */
const REQUESTS: ReadonlySet<unknown> = new Set<AuditEvent["event"]>([
  "tool_call",
  "read",
]);

/** Marks synchronous sinks for LogTape. */
const READS_AT_ONCE = Symbol.for("LogTape.sinkSnapshotPolicy.immediate");

/** Time limit at the end of the process for the reader of the log. */
const FLUSH_TIMEOUT_MS = 1000;

/** The log of the command. */
export interface Logging {
  /** Reopens the log file after a tool has moved it away; does nothing without a file. */
  readonly reopen: () => void;
  /** Resolves when all lines are written, or after a second without a reader. */
  readonly flush: () => Promise<void>;
}

/** A destination of lines. */
interface Target extends Logging {
  readonly write: (text: string, lines: number) => void;
}

/**
 * Sets up the log of the process and its libraries.
 *
 * Writes lines to a file synchronously, so that no line is lost: a disk does not pause, unlike the
 * reader of a pipe or a terminal. Lines to stderr never block, see {@linkcode LineQueue}.
 *
 * @throws when the file cannot be opened
 */
export function startLogging(
  { logLevel, logFormat, logFile }: Pick<
    ServerFlags,
    "logLevel" | "logFormat" | "logFile"
  >,
): Logging {
  const onTerminal = !logFile && process.stderr.isTTY === true;
  const format = logFormat ?? (onTerminal ? "pretty" : "json");
  const json = onTerminal
    ? (record: LogRecord) => plainJson(jsonLine(record))
    : jsonLine;
  const line = format === "pretty" ? prettyLine : json;
  const target = logFile ? toFile(logFile) : toStderr(line);
  const lines = newLineBuffer(target.write);
  process.on("exit", () => lines.flush());
  const write: Sink = (record) => {
    lines.add(line(record));
    // Requests are many; all other lines must survive any end of the process.
    if (!REQUESTS.has(record.rawMessage)) lines.flush();
  };
  // LogTape copies each record for a sink that may read it later.
  Object.defineProperty(write, READS_AT_ONCE, { value: true });
  configureSync({
    sinks: { write },
    loggers: [
      { category: ["a2c-smcp"], lowestLevel: logLevel, sinks: ["write"] },
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

/** Creates the record that reports dropped lines. */
function leftOut(omitted: number): LogRecord {
  const rawMessage = "Lines were dropped: the log was not read";
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
  // Not world-readable: the log holds names of members and addresses.
  try {
    return openSync(file, "a", 0o640);
  } catch (error) {
    throw unwritable(error, `the log to ${file}`, "--log-file");
  }
}

/** Formats an event as one line for people: `… WARNING audit: join_refused reason="…" office="north"`. */
export const prettyLine = (record: LogRecord): string => {
  const { level, category } = record;
  const line = `${timeOf(record)} ${level.toUpperCase()} ${category.at(-1)}: ${
    messageOf(record)
  }${fieldsText(record, plainValue)}`;
  return `${plain(line)}\n`;
};

/** Characters above which the buffer is written immediately. */
const MAX_BUFFERED_CHARS = 65_536;

/**
 * Creates a buffer that collects the lines of one turn of the event loop, and writes them in one write.
 *
 * @param write writes a text with the given number of lines
 */
export function newLineBuffer(write: (text: string, lines: number) => void) {
  let text = "";
  let lines = 0;
  /** Writes the collected lines. */
  const flush = () => {
    const collected = [text, lines] as const;
    [text, lines] = ["", 0];
    if (collected[1] > 0) write(...collected);
  };
  return {
    flush,
    /** Adds a line, with its line break. */
    add(line: string): void {
      if (lines === 0) setImmediate(flush);
      text += line;
      lines++;
      if (text.length >= MAX_BUFFERED_CHARS) flush();
    },
  };
}
