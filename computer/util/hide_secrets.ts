import { secretPattern } from "./hide_values.ts";
import { REDACTED } from "./redact_text.ts";

/** Tells the values that nobody may see, as far as they are known by now. */
export type SecretSource = () => Iterable<string>;

const sources = new Set<SecretSource>();
let known: readonly string[] = [];
let pattern: RegExp | undefined;

/**
 * Lets no line of this process say the values of a source, until the result is disposed of.
 *
 * One place for all Computers of a process: the log is one for all of them.
 */
export function guardSecrets(source: SecretSource): Disposable {
  sources.add(source);
  return { [Symbol.dispose]: () => void sources.delete(source) };
}

/**
 * Takes every secret that is known out of a text; all that the Computer says passes here: lines
 * of the log, states and problems of MCP servers, errors that Agents and people are shown. Results
 * of tools do not: they are what the tool is for.
 */
export function hideSecrets(text: string): string {
  const now = [...sources].flatMap((source) => [...source()]);
  if (now.length !== known.length || now.some((v, i) => v !== known[i])) {
    known = now;
    pattern = secretPattern(now);
  }
  return pattern ? text.replaceAll(pattern, REDACTED) : text;
}
