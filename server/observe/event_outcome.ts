import type { CallEnd } from "../shared/call_end.ts";
import type { Answer } from "../office/peer.ts";
import { Payload } from "../shared/payload.ts";
import { endOf } from "../shared/call_end.ts";

/**
 * Returns how an event was answered, for metrics.
 *
 * @param answer `undefined` if its sender was gone
 * @returns as {@linkcode endOf}; `refused` for a join or a leave that was answered with `false`
 */
export function eventEnd(answer: Answer | undefined): CallEnd {
  if (answer === undefined || answer instanceof Payload) return endOf(answer);
  return { outcome: answer[0] === false ? "refused" : "ok" };
}
