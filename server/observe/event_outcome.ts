import { outcomeOf } from "./call_outcome.ts";
import { type Answer, Payload } from "../wire/mod.ts";

/**
 * Summarizes how an event was answered, for metrics.
 *
 * @param answer `undefined` if its sender was gone
 * @returns as {@linkcode outcomeOf}; `refused` for a join or a leave that was answered with `false`
 */
export function eventOutcome(answer: Answer | undefined): string {
  if (answer === undefined || answer instanceof Payload) {
    return outcomeOf(answer);
  }
  return answer[0] === false ? "refused" : "ok";
}
