import { getLogger, type Logger } from "@logtape/logtape";

/** The server's log; silent until the program configures LogTape. Never payloads, never `auth`. */
export const log: Logger = getLogger(["a2c-smcp", "server"]);

/** Makes text of a client fit for one line of a log: quoted, without control characters, short. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);

/** What an unexpected failure is logged as; its message may hold what a client sent, its stack does not. */
export const failure = (error: unknown): Record<string, unknown> => ({
  error: error instanceof Error ? error.name : typeof error,
  stack: error instanceof Error
    ? error.stack?.split("\n").slice(1).join("\n")
    : undefined,
});
