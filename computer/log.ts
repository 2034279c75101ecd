import { getLogger, type Logger } from "@logtape/logtape";
import { reasonOf } from "./_values.ts";

/** The log of the Computer; values of variables, headers, params and results never enter it. */
export const log: Logger = getLogger(["a2c-smcp", "computer"]);

/** Takes what listeners and handlers throw: it must reach nobody else. */
export const logThrown = (error: unknown): void =>
  log.error("A listener or handler failed: {reason}", {
    reason: reasonOf(error),
  });
