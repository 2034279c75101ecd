import { getLogger, type Logger } from "@logtape/logtape";

/** The server's log; silent until the program configures LogTape. Never payloads, never `auth`. */
export const log: Logger = getLogger(["a2c-smcp", "server"]);

/** Shortens text of a client for a log, where it is the value of a placeholder, never part of a message. */
export const short = (text: string): string =>
  text.length > 80 ? `${text.slice(0, 80)}…` : text;

/** Makes text of a client fit for one line: quoted, without control characters, short. */
export const quote = (text: string): string => JSON.stringify(short(text));

/** What an unexpected failure is logged as; its message may hold what a client sent, its stack does not. */
export const failure = (error: unknown): Record<string, unknown> => ({
  error: error instanceof Error ? error.name : typeof error,
  stack: error instanceof Error
    ? error.stack?.split("\n").filter((line) => /^\s+at /.test(line)).join("\n")
    : undefined,
});
