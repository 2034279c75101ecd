import type { ServerView } from "./server_status.ts";

/** Says where an MCP server stands, and when it is started again: `is restarting; …` (spec §6). */
export const whereabouts = (
  { state, nextAttempt }: Pick<ServerView, "state" | "nextAttempt">,
): string =>
  nextAttempt
    ? `is ${state}; the next attempt to start it is at ${nextAttempt.toISOString()}`
    : `is ${state}`;
