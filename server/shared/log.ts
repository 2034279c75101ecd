import { getLogger, type Logger } from "@logtape/logtape";

/** The server's log; silent until the program configures LogTape. Never payloads, never `auth`. */
export const log: Logger = getLogger(["a2c-smcp", "server"]);

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
