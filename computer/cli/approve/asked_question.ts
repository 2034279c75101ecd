import { z } from "zod";
import type { AskedQuestion } from "../../../shared/approvals/device.ts";
import type { Question } from "../../../shared/approvals/question.ts";
import type { Confirmed, ConfirmRequest } from "../../tools/confirm.ts";

const OPTIONS = ["once", "hour", "always", "no", "mute"] as const;

/** What is shown of a question, and decided by; it is signed, but by whoever made the link. */
const QUESTION = z.object({
  v: z.literal(1),
  computer: z.string(),
  caller: z.object({ kind: z.enum(["agent", "operator"]), name: z.string() }),
  server: z.string(),
  bundle: z.string().exactOptional(),
  tool: z.string(),
  alias: z.string().exactOptional(),
  definition: z.string(),
  rule: z.object({ id: z.string(), text: z.string() }),
  rules: z.string(),
  options: z.array(z.object({
    id: z.enum(OPTIONS),
    text: z.string(),
    covers: z.string().exactOptional(),
  })),
  arguments: z.record(z.string(), z.unknown()),
  diff: z.object({ of: z.string(), before: z.string().exactOptional() })
    .exactOptional(),
}) satisfies z.ZodType<Omit<Question, "id" | "asked" | "ms">>;

/** Reads a question as the Computer's own terminal gets it; undefined for what is none. */
export function toRequest(
  { question, left }: Pick<AskedQuestion, "question" | "left">,
): ConfirmRequest | undefined {
  const read = QUESTION.safeParse(fromJson(question));
  if (!read.success) return undefined;
  const { caller, server, bundle, tool, alias, diff, ...more } = read.data;
  return {
    agent: caller.kind === "agent" ? caller.name : "operator",
    ...(caller.kind === "operator" && { operator: caller.name }),
    server,
    ...(bundle !== undefined && { bundleId: bundle }),
    tool,
    name: alias ?? tool,
    params: more.arguments,
    definition: more.definition,
    rule: more.rule,
    every: false,
    rulesVersion: more.rules,
    options: more.options,
    leftMs: left,
    ...(diff !== undefined && { diff }),
    late: () => {},
  };
}

/** Returns the nearest answer that the question offers, and allows no more. */
export function nearestOption(
  { options }: Pick<ConfirmRequest, "options">,
  { answer }: Confirmed,
): Confirmed["answer"] {
  if (options.some(({ id }) => id === answer)) return answer;
  return answer === "no" || answer === "mute" ? "no" : "once";
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
