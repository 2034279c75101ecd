import type { Logger } from "@logtape/logtape";
import { secretsInClear } from "../../client/check_options.ts";
import type { ConnectionOptions } from "../../client/options.ts";

/**
 * Where LogTape keeps its root logger, so that all its copies in a program are one. A program without
 * LogTape has no sink for a record either, and need not bundle it for an Agent, of which it would be
 * an eighth.
 */
const ROOT_LOGGER = Symbol.for("logtape.rootLogger");

function log(): Logger | undefined {
  const root: Logger | undefined = Reflect.get(globalThis, ROOT_LOGGER);
  return root?.getChild(["a2c-smcp", "agent"]);
}

/** Logs what listeners and handlers throw, which must not reach other code. */
export const logThrown = (error: unknown): void =>
  log()?.error("{error}", { error });

/** Warns when credentials are sent to another machine unencrypted. */
export function warnOfClearText(options: ConnectionOptions): void {
  const warning = secretsInClear(options);
  if (warning !== undefined) log()?.warn("{warning}", { warning });
}
