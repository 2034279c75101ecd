import { getLogger, type Logger } from "@logtape/logtape";

const log: Logger = getLogger(["a2c-smcp", "agent"]);

/** Takes what listeners and handlers throw: it must reach nobody else. */
export const logThrown = (error: unknown): void =>
  log.error("{error}", { error });
