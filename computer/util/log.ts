import { getLogger } from "@logtape/logtape";
import { secretsInClear } from "../../client/clear_text.ts";
import type { ConnectionOptions } from "../../client/options.ts";
import { reasonOf } from "./values.ts";
import { hideSecrets } from "./hide_secrets.ts";

/** What a line of the log is about; texts in it lose every secret. */
type Properties = Readonly<Record<string, string | number | boolean>>;

/** The log of the Computer. */
interface ComputerLog {
  /** What is of interest when something is looked for. */
  info(message: string, properties?: Properties): void;
  /** What somebody should look at. */
  warn(message: string, properties?: Properties): void;
  /** What should not have happened. */
  error(message: string, properties?: Properties): void;
}

const logger = getLogger(["a2c-smcp", "computer"]);

/** Values of inputs, variables, headers, params and results never enter it. */
export const log: ComputerLog = {
  info: (message, properties) => logger.info(message, discreet(properties)),
  warn: (message, properties) => logger.warn(message, discreet(properties)),
  error: (message, properties) => logger.error(message, discreet(properties)),
};

const discreet = (properties: Properties = {}): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [
      name,
      typeof value === "string" ? hideSecrets(value) : value,
    ]),
  );

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
