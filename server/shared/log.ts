import { getLogger, type LogRecord } from "@logtape/logtape";

/** A line of the log, as a listener gets it. */
export interface LogLine {
  /** How grave it is. */
  readonly level: "info" | "warning" | "error";
  /** What happened, with `{name}` in place of fields. */
  readonly message: string;
  /** What belongs to it. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Writes a line. */
type Write = (
  message: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;

const logger = getLogger(["a2c-smcp", "server"]);
const listeners = new Set<(line: LogLine) => void>();

/**
 * Receives the lines of all servers of this process that are more than debugging, whether or not the
 * program has configured LogTape, whose sinks it leaves alone.
 *
 * @param listener must neither throw nor log
 * @returns a function that ends it
 */
export function listenToLog(listener: (line: LogLine) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const writing =
  (write: "info" | "warn" | "error", level: LogLine["level"]): Write =>
  (message, fields = {}) => {
    logger[write](message, fields);
    for (const listener of listeners) listener({ level, message, fields });
  };

/** The server's log; silent until the program configures LogTape. Never payloads, never `auth`. */
export const log: Readonly<
  Record<"debug" | "info" | "warn" | "error", Write>
> = {
  debug: (message, fields = {}) => logger.debug(message, fields),
  info: writing("info", "info"),
  warn: writing("warn", "warning"),
  error: writing("error", "error"),
};

/** Truncates a client's text for use as a log placeholder, never as part of a message. */
export const short = (text: string): string =>
  text.length > 80 ? `${text.slice(0, 80)}…` : text;

/** Quotes a client's text for a single line: escaped and truncated. */
export const quote = (text: string): string => JSON.stringify(short(text));

/** The log fields of an unexpected failure; its message may hold what a client sent, its stack does not. */
export const failure = (error: unknown): Record<string, unknown> => ({
  error: error instanceof Error ? error.name : typeof error,
  stack: error instanceof Error
    ? error.stack?.split("\n").filter((line) => /^\s+at /.test(line)).join("\n")
    : undefined,
});

/** An error whose message is of this package alone, with the remedy: nothing that a client sent is in it. */
export class ExplainedError extends Error {}

/** The log fields of a failure, for a message that names its `{reason}`. */
export const reasonOf = (error: unknown): Record<string, unknown> => {
  const fields = failure(error);
  const isExplained = error instanceof ExplainedError;
  return { reason: isExplained ? error.message : fields.error, ...fields };
};

/** Writes times in ISO 8601. Keeps the last minute, since many events belong to the same. */
export class TimeText {
  #minute = NaN;
  #text = "";

  /** @param time in milliseconds since 1970 */
  of(time: number): string {
    const minute = Math.floor(time / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#text = new Date(minute * 60_000).toISOString().slice(0, -7);
    }
    const rest = time - minute * 60_000;
    const seconds = Math.floor(rest / 1000);
    const milliseconds = String(rest - seconds * 1000).padStart(3, "0");
    return `${this.#text}${two(seconds)}.${milliseconds}Z`;
  }
}

const two = (n: number): string => n < 10 ? `0${n}` : String(n);

/** Formats an event as one line of JSON. */
export const jsonLine = (record: LogRecord): string => {
  const { level, category, properties } = record;
  const at = `"time":"${timeOf(record)}","level":"${level}"`;
  const message = JSON.stringify(messageOf(record));
  const head = `{${at},"logger":"${category.join(".")}","message":${message}`;
  // A replacer is called for every value and would dominate the cost.
  const replacer = hasObjects(properties) ? plain : undefined;
  const tail = JSON.stringify(properties, replacer).slice(1);
  return `${head}${tail === "}" ? "" : ","}${tail}\n`;
};

const times = new TimeText();

/** Returns the time of an event. */
export const timeOf = ({ timestamp }: LogRecord): string => times.of(timestamp);

function hasObjects(properties: Record<string, unknown>): boolean {
  for (const name in properties) {
    if (typeof properties[name] === "object") return true;
  }
  return false;
}

/** Formats a message, whose values are at odd positions. */
export const messageOf = ({ message }: LogRecord): string =>
  message.length === 1
    ? String(message[0])
    : message.map((part, i) => i % 2 === 0 ? part : JSON.stringify(part, plain))
      .join("");

/** Replaces errors, which have no fields of their own in JSON. */
export const plain = (_key: string, value: unknown): unknown =>
  value instanceof Error ? `${value.name}: ${value.message}` : value;
