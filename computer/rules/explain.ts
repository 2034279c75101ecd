/**
 * Why a rule is not about a call, or about none at all, for the person who wrote it.
 *
 * @module
 */
import { Argument, checkOf, globOf } from "./conditions.ts";
import type { JudgedCall, Rule } from "./rules.ts";
import { nearestWord } from "../../shared/checks.ts";

/** Explains why a rule does not match a call, in one phrase; undefined where it does. */
export function whyNot(rule: Rule, call: JudgedCall): string | undefined {
  const { agent, servers, tools, params } = call;
  const about: [
    field: "agent" | "server" | "tool",
    names: readonly string[],
  ][] = [["agent", [agent]], ["server", servers], ["tool", tools]];
  for (const [field, names] of about) {
    const glob = rule[field];
    if (!fits(glob, names)) return `its ${field} is ${JSON.stringify(glob)}`;
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

/** An MCP server, as rules name it. */
export interface NamedServer {
  /** Its name and its `bundle_id`. */
  readonly names: readonly string[];
  /** Its tools; absent where they are unknown, as it does not run. */
  readonly tools?: readonly {
    /** All names that it is called by, that of its MCP server first. */
    readonly names: readonly string[];
    /** Its arguments; absent where it may have others. */
    readonly arguments?: readonly string[];
  }[];
}

/**
 * Finds what rules name and no MCP server has, such as a name with a typing error: a `deny` about it denies
 * nothing. A name with `*` is for what may come.
 */
export const strayNames = (
  rules: readonly Rule[],
  servers: readonly NamedServer[],
): string[] =>
  rules.flatMap((rule, at) =>
    strayIn(rule, servers).map((text) => `rules.${at}: ${text}`)
  );

function strayIn(rule: Rule, servers: readonly NamedServer[]): string[] {
  const fitting = servers.filter(({ names }) => fits(rule.server, names));
  if (fitting.length === 0) {
    const names = servers.flatMap(({ names }) => names.slice(0, 1));
    return stray("there is no MCP server", rule.server, names);
  }
  if (fitting.some(({ tools }) => tools === undefined)) return [];
  const tools = fitting.flatMap(({ tools = [] }) => tools);
  const about = tools.filter(({ names }) => fits(rule.tool, names));
  if (about.length === 0) {
    const names = tools.flatMap(({ names }) => names);
    return stray("no MCP server that it is about has a tool", rule.tool, names);
  }
  const all = about.map((tool) => tool.arguments);
  if (all.includes(undefined)) return [];
  const known = all.flatMap((names) => names ?? []);
  const { path, content } = rule.file ?? {};
  return [...Object.keys(rule.when ?? {}), path, content]
    .filter((name) => name !== undefined && !known.includes(name))
    .flatMap((name) =>
      stray("no tool that it is about has an argument", name, known)
    );
}

/** Describes a name that there is not, with what was probably meant; nothing for one with `*`. */
function stray(
  text: string,
  name: string | undefined,
  known: readonly string[],
): string[] {
  if (name === undefined || name.includes("*")) return [];
  const meant = nearestWord(name, [...new Set(known)]);
  const guess = meant === undefined ? "" : `; did you mean ${quote(meant)}?`;
  return [`${text} ${quote(name)}${guess}`];
}

const fits = (glob: string | undefined, names: readonly string[]): boolean =>
  glob === undefined || names.some(globOf(glob));
