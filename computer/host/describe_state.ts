import type { ServerView } from "./server_status.ts";

/** Describes the state of an MCP server and its next start: `is restarting; …` (spec §6). */
export const describeState = (
  { state, nextAttempt }: Pick<ServerView, "state" | "nextAttempt">,
): string =>
  nextAttempt
    ? `is ${state}; the next attempt to start it is at ${nextAttempt.toISOString()}`
    : `is ${state}`;
