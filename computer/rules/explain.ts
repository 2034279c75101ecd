/**
 * Why a rule is not about a call, for the person who wrote it.
 *
 * @module
 */
import { Argument, checkOf } from "./conditions.ts";
import { globOf } from "../../shared/glob.ts";
import type { JudgedCall, Rule } from "./rules.ts";

/** Explains why a rule does not match a call, in one phrase; undefined where it does. */
export function whyNot(rule: Rule, call: JudgedCall): string | undefined {
  const { agent, servers, tools, params } = call;
  const about: [
    field: "agent" | "server" | "tool",
    names: readonly string[],
  ][] = [["agent", [agent]], ["server", servers], ["tool", tools]];
  for (const [field, names] of about) {
    const glob = rule[field];
    if (glob === undefined) continue;
    if (names.some(globOf(glob))) continue;
    return `its ${field} is ${JSON.stringify(glob)}`;
  }
  return whyNotArguments(rule, params);
}

function whyNotArguments(
  { then, when = {}, any, others }: Rule,
  params: JudgedCall["params"],
): string | undefined {
  for (const [name, conditions] of Object.entries(when)) {
    if (!Object.hasOwn(params, name)) return `the call has no ${quote(name)}`;
    const holds = checkOf(conditions)(new Argument(params[name]));
    if (holds === false) return `${quote(name)} is something else`;
    if (holds === undefined && then === "allow") {
      return `it cannot be said whether ${quote(name)} is what it allows`;
    }
  }
  if (then !== "allow" || any === true || others === "any") return undefined;
  const stray = Object.keys(params).find((name) => !Object.hasOwn(when, name));
  return stray === undefined
    ? undefined
    : `it does not name the argument ${quote(stray)}`;
}

const quote = (name: string): string => JSON.stringify(name);
