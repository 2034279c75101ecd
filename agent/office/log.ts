import { getLogger, type Logger } from "@logtape/logtape";
import { secretsInClear } from "../../client/url.ts";
import type { ConnectionOptions } from "../../client/options.ts";

const log: Logger = getLogger(["a2c-smcp", "agent"]);

/** Logs what listeners and handlers throw, which must not reach other code. */
export const logThrown = (error: unknown): void =>
  log.error("{error}", { error });

/** Warns when credentials are sent to another machine unencrypted. */
export function warnOfClearText(options: ConnectionOptions): void {
  const warning = secretsInClear(options);
  if (warning !== undefined) log.warn("{warning}", { warning });
}
