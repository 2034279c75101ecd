import { outcomeOf } from "./call_outcome.ts";

/**
 * Tells in a word or two how an event was answered, for metrics.
 *
 * @param answer the arguments of its ack, given or not
 * @returns as {@linkcode outcomeOf}; `refused` for a join or a leave that was answered with `false`
 */
export function eventOutcome(answer: readonly unknown[]): string {
  const [first] = answer;
  if (answer.length === 0 || first === true) return "ok";
  return first === false ? "refused" : outcomeOf(first);
}
