import { seatOf } from "../shared/audit.ts";
import type { Here } from "./here.ts";
import type { Answers, Questions } from "./nodes/node_questions.ts";
import type { OtherOperators } from "./nodes/other_operators.ts";

/**
 * Kicks a member that has its connection here. First its seat is closed on all nodes, since its
 * client may come back to any.
 */
export async function kickHere(
  { by, id, reason, hold_ms: holdMs, policy }: Questions["kick"],
  here: Here,
  others: OtherOperators,
): Promise<Answers["kick"]> {
  const found = here.find(id, policy);
  if (found === undefined) return { done: 0, unanswered: [] };
  const { of: { protocol, sessions }, session, seat } = found;
  const { unanswered } = await others.askAll("bar", {
    ...{ protocol, reason },
    seat: seatOf(seat),
    hold_ms: holdMs,
  });
  await sessions.kick(session, seat, { by, reason, holdMs });
  return { done: 1, unanswered: [...unanswered] };
}
