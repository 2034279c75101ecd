import { secretPattern } from "./hide_values.ts";
import { REDACTED } from "./redact_text.ts";

/** Returns the secret values that are known so far. */
export type SecretSource = () => Iterable<string>;

const sources = new Set<SecretSource>();
let known: readonly string[] = [];
let pattern: RegExp | undefined;

/**
 * Hides the values of a source in all output of this process until the result is disposed.
 *
 * Kept per process, not per Computer, since all Computers of a process write to one log.
 */
export function guardSecrets(source: SecretSource): Disposable {
  sources.add(source);
  return { [Symbol.dispose]: () => void sources.delete(source) };
}

/**
 * Replaces every known secret in a text.
 *
 * Everything that a Computer reports passes through here: log lines, states and problems of MCP
 * servers, errors for Agents and users. Results of tools do not: the Agent needs them unchanged.
 */
export function hideSecrets(text: string): string {
  const now = [...sources].flatMap((source) => [...source()]);
  if (now.length !== known.length || now.some((v, i) => v !== known[i])) {
    known = now;
    pattern = secretPattern(now);
  }
  return pattern ? text.replaceAll(pattern, REDACTED) : text;
}
