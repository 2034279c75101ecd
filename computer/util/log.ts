import { getLogger } from "@logtape/logtape";
import { hideSecrets } from "./secrets.ts";
import { reasonOf } from "./values.ts";

/** The properties of a log line; secrets in strings are hidden. */
type Properties = Readonly<Record<string, string | number | boolean>>;

const logger = getLogger(["a2c-smcp", "computer"]);

function logAt(level: "info" | "warn" | "error") {
  return (message: string, properties: Properties = {}): void => {
    const shown = Object.entries(properties).map(([name, value]) => [
      name,
      typeof value === "string" ? hideSecrets(value) : value,
    ]);
    logger[level](message, Object.fromEntries(shown));
  };
}

/** Never pass it values of inputs, variables or headers, nor params or results of tools. */
export const log = {
  /** Logs what helps to find a cause. */
  info: logAt("info"),
  /** Logs what an operator should look at. */
  warn: logAt("warn"),
  /** Logs what should never happen. */
  error: logAt("error"),
};

/** Logs what a user's listener or handler throws, so that it disturbs nothing else. */
export const logThrown = (error: unknown): void =>
  log.error("A listener or handler failed: {reason}", {
    reason: reasonOf(error),
  });

/** How many warnings are remembered; a hostile list of resources could cause any number. */
const MAX_REMEMBERED = 1_000;

/** Logs each warning once: a desktop is organized again and again from the same invalid resources. */
export class WarnOnce {
  readonly #logged = new Set<string>();

  /** Logs the warnings that were not logged before. */
  warn(warnings: readonly string[]): void {
    for (const warning of warnings) {
      if (this.#logged.has(warning)) continue;
      if (this.#logged.size >= MAX_REMEMBERED) this.#logged.clear();
      this.#logged.add(warning);
      log.warn("{warning}", { warning });
    }
  }
}
