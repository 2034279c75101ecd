import { getLogger, type Logger } from "@logtape/logtape";
import { secretsInClear } from "../protocol/client/clear_text.ts";
import type { ConnectionOptions } from "../protocol/client/options.ts";
import { reasonOf } from "./_values.ts";

/** The log of the Computer; values of variables, headers, params and results never enter it. */
export const log: Logger = getLogger(["a2c-smcp", "computer"]);

/** Takes what listeners and handlers throw: it must reach nobody else. */
export const logThrown = (error: unknown): void =>
  log.error("A listener or handler failed: {reason}", {
    reason: reasonOf(error),
  });

/** Warns of credentials that go to another machine unencrypted. */
export function warnOfClearText(options: ConnectionOptions): void {
  const warning = secretsInClear(options);
  if (warning !== undefined) log.warn("{warning}", { warning });
}
