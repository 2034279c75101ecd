import type { Here } from "./here.ts";
import type { Answers, Questions } from "./nodes/node_questions.ts";
import type { OtherOperators } from "./nodes/other_operators.ts";

/**
 * Kicks a member of an office here. First its seat is held free on all nodes, since the home of its
 * office may change.
 */
export async function kickHere(
  { by, id, reason, hold_ms, policy }: Questions["kick"],
  here: Here,
  others: OtherOperators,
): Promise<Answers["kick"]> {
  const found = here.find(id, policy);
  if (found === undefined) return { done: 0, unanswered: [] };
  const { office, role, name } = found.member;
  const { unanswered } = await others.askAll("hold", {
    seat: { office, role, name },
    ...{ reason, hold_ms },
  });
  here.kick(found, { by, reason, holdMs: hold_ms });
  return { done: 1, unanswered: [...unanswered] };
}
