/**
 * The rules of a Computer about tool calls: the first that matches decides whether a call runs, is asked
 * about, or is denied. What a configuration has about tools elsewhere is shown as the rules that it is.
 *
 * @module
 */
import {
  Argument,
  type Check,
  checkOf,
  type Conditions,
  type Outcome,
} from "./conditions.ts";
import { type Glob, globOf } from "../../shared/glob.ts";

/** A rule of the configuration. All that it names must match; what it does not name matches everything. */
export interface Rule {
  /** What happens to a call that matches. */
  then: "allow" | "ask" | "deny";
  /** The Agent's name, in which `*` stands for any characters; `operator` for an operator of the Server. */
  agent?: string;
  /** The name or `bundle_id` of the MCP server; `*` as above. */
  server?: string;
  /** The tool: the name that its MCP server gives it, its alias, or the name that Agents see; `*` as above. */
  tool?: string;
  /** What arguments must be, by their names. An `allow` matches only calls whose arguments are all here. */
  when?: Record<string, Conditions>;
  /** Lets an `allow` match calls that have other arguments beside those of `when`, whatever they are. */
  others?: "any";
  /** Lets an `allow` match whatever the arguments are, in place of `when`. */
  any?: true;
  /** Asks about every call, whatever was allowed before; for `ask`. */
  every?: boolean;
  /** Why, for people; the reason of a `deny` is in the answer to the Agent. */
  reason?: string;
  /** Arguments that write a file, for `ask`: the question then shows what changes in it. */
  file?: FileArguments;
}

/** The arguments of a tool that writes a file. */
export interface FileArguments {
  /** The argument with the absolute path of the file. */
  path: string;
  /** The argument with the new content; "for an hour" allows any. */
  content: string;
  /** The folder whose files may be read for the question. */
  under: string;
}

/** A call, as rules see it. */
export interface JudgedCall {
  readonly agent: string;
  /** The name and the `bundle_id` of the MCP server. */
  readonly servers: readonly string[];
  /** The tool's original name, and all names that it is called by. */
  readonly tools: readonly string[];
  readonly params: Readonly<Record<string, unknown>>;
}

/** A rule that is ready for calls: what does not depend on them is worked out. */
interface ReadyRule {
  readonly agent: Glob | undefined;
  readonly server: Glob | undefined;
  readonly tool: Glob | undefined;
  readonly when: readonly { readonly name: string; readonly check: Check }[];
  readonly isAllow: boolean;
  /** The only arguments that a call may have; undefined: any. */
  readonly only: ReadonlySet<string> | undefined;
}

/** The rules of configurations, each made ready once. */
const ready = new WeakMap<readonly Rule[], readonly ReadyRule[]>();

/**
 * Finds the position of the first rule that matches a call; -1 where none does.
 *
 * @param rules that do not change any more
 */
export function firstMatch(rules: readonly Rule[], call: JudgedCall): number {
  let all = ready.get(rules);
  if (all === undefined) ready.set(rules, all = rules.map(readyRule));
  const judged = new JudgedArguments(call.params);
  for (let i = 0; i < all.length; i++) {
    const rule = all[i];
    if (rule && matches(rule, call, judged)) return i;
  }
  return -1;
}

function readyRule(
  { then, agent, server, tool, when = {}, any, others }: Rule,
): ReadyRule {
  const isAllow = then === "allow";
  const isOpen = !isAllow || any === true || others === "any";
  return {
    agent: agent === undefined ? undefined : globOf(agent),
    server: server === undefined ? undefined : globOf(server),
    tool: tool === undefined ? undefined : globOf(tool),
    when: Object.entries(when).map(([name, conditions]) => ({
      name,
      check: checkOf(conditions),
    })),
    isAllow,
    only: isOpen ? undefined : new Set(Object.keys(when)),
  };
}

/** Returns whether a rule matches: `allow` only where that is certain, `ask` and `deny` where it may be. */
function matches(
  { agent, server, tool, when, isAllow, only }: ReadyRule,
  call: JudgedCall,
  judged: JudgedArguments,
): boolean {
  if (agent && !agent(call.agent)) return false;
  if (server && !call.servers.some(server)) return false;
  if (tool && !call.tools.some(tool)) return false;
  for (const { name, check } of when) {
    const holds = judged.judge(name, check);
    if (holds === false || holds === undefined && isAllow) return false;
  }
  return only === undefined ||
    Object.keys(call.params).every((name) => only.has(name));
}

/** The arguments of a call that rules have conditions about. */
class JudgedArguments {
  readonly #params: JudgedCall["params"];
  #read: Map<string, Argument> | undefined;

  constructor(params: JudgedCall["params"]) {
    this.#params = params;
  }

  /** Judges one; an argument that the call lacks meets no condition. */
  judge(name: string, check: Check): Outcome {
    if (!Object.hasOwn(this.#params, name)) return false;
    const read = this.#read ??= new Map();
    let argument = read.get(name);
    if (argument === undefined) {
      read.set(name, argument = new Argument(this.#params[name]));
    }
    return check(argument);
  }
}

// ------------------------------------------------------------------ in words

/** A rule as people see it, in the order in which they are applied. */
export interface ShownRule {
  /** Its path in the configuration, such as `rules.0`, or `default` where no rule matches. */
  readonly id: string;
  /** What it does with a call. */
  readonly then: Rule["then"];
  /** The rule in words. */
  readonly text: string;
  /** Whether it asks about every call, whatever was allowed before. */
  readonly every?: boolean;
}

/** What happens to calls that no rule is about. */
export const DEFAULT_RULE: ShownRule = {
  id: "default",
  then: "ask",
  text: "ask about every other call",
};

/** A rule of the configuration in words. */
export const shownRule = (rule: Rule, at: number): ShownRule => ({
  id: `rules.${at}`,
  then: rule.then,
  text: ruleText(rule),
  ...(rule.every === true && { every: true }),
});

function ruleText(rule: Rule): string {
  const { then, agent, server, tool, when, every, reason, file } = rule;
  const verb = then === "ask"
    ? every ? "ask every time about" : "ask about"
    : then;
  const conditions = Object.entries(when ?? {}).map(([name, each]) =>
    `${JSON.stringify(name)} ${conditionsText(each)}`
  );
  return [
    verb,
    tool === undefined ? "any tool" : `tool ${JSON.stringify(tool)}`,
    ...server === undefined ? [] : [`of MCP server ${JSON.stringify(server)}`],
    ...agent === undefined ? [] : [`for Agent ${JSON.stringify(agent)}`],
    ...conditions.length === 0 ? [] : [`where ${conditions.join(" and ")}`],
    ...then === "allow" ? [othersText(rule, conditions.length > 0)] : [],
    ...file === undefined ? [] : [
      `(shows what it changes in the file that ${
        JSON.stringify(file.path)
      } names, below ${JSON.stringify(file.under)})`,
    ],
    ...reason === undefined ? [] : [`– ${JSON.stringify(reason)}`],
  ].join(" ");
}

/** Describes the arguments that an `allow` does not name. */
function othersText({ any, others }: Rule, hasConditions: boolean): string {
  const isAny = any === true || others === "any";
  if (!hasConditions) return isAny ? "with any arguments" : "without arguments";
  return isAny ? "and any other arguments" : "and no other argument";
}

const conditionsText = (conditions: Conditions): string =>
  Object.entries(conditions).map(([kind, wanted]) =>
    `${CONDITION_WORDS[kind] ?? kind} ${JSON.stringify(wanted)}`
  ).join(" and ");

const CONDITION_WORDS: Readonly<Record<string, string>> = {
  equals: "is",
  in: "is one of",
  under: "is under",
  host: "has the host",
  min: "is at least",
  max: "is at most",
};

/** What the configuration of an MCP server has about its tools. */
export interface ToolSettings {
  readonly name: string;
  readonly forbidden_tools: readonly string[];
  readonly tool_meta: Readonly<
    Record<string, { readonly auto_apply?: boolean | null | undefined }>
  >;
  readonly default_tool_meta?:
    | { readonly auto_apply?: boolean | null | undefined }
    | null
    | undefined;
}

/** Shows all rules in their order: what is forbidden, those of the configuration, `auto_apply`, and the rest. */
export function shownRules(
  rules: readonly Rule[],
  servers: readonly ToolSettings[],
): ShownRule[] {
  const forbidden = servers.flatMap(({ name, forbidden_tools }) =>
    forbidden_tools.map((tool, i): ShownRule => ({
      id: `servers.${name}.forbidden_tools.${i}`,
      then: "deny",
      text: `deny ${toolOf(tool, name)}, which is not listed either`,
    }))
  );
  return [
    ...forbidden,
    ...rules.map(shownRule),
    ...servers.flatMap(shownSettings),
    DEFAULT_RULE,
  ];
}

/** Shows `auto_apply` of an MCP server: that of tools, then that of all others. */
function shownSettings(
  { name, tool_meta, default_tool_meta }: ToolSettings,
): ShownRule[] {
  const shared = default_tool_meta?.auto_apply === true;
  const own = Object.entries(tool_meta).flatMap(([tool, { auto_apply }]) => {
    // A tool is only of note where it differs from those without settings.
    if ((auto_apply ?? shared) === shared) return [];
    return [
      autoApply(
        `servers.${name}.tool_meta.${tool}.auto_apply`,
        auto_apply === true,
        toolOf(tool, name),
      ),
    ];
  });
  const id = `servers.${name}.default_tool_meta.auto_apply`;
  const others = `every other tool of MCP server ${JSON.stringify(name)}`;
  return shared ? [...own, autoApply(id, true, others)] : own;
}

const autoApply = (id: string, isSet: boolean, what: string): ShownRule => ({
  id,
  then: isSet ? "allow" : "ask",
  text: isSet ? `allow ${what} with any arguments` : `ask about ${what}`,
});

/** Shows the `auto_apply` that lets a tool run. */
export const autoApplyRule = (
  { name, tool_meta }: ToolSettings,
  tool: string,
): ShownRule => {
  const own = Object.hasOwn(tool_meta, tool) ? tool_meta[tool] : undefined;
  const isOwn = own?.auto_apply === true;
  const place = isOwn ? `tool_meta.${tool}` : "default_tool_meta";
  return autoApply(
    `servers.${name}.${place}.auto_apply`,
    true,
    toolOf(tool, name),
  );
};

const toolOf = (tool: string, server: string): string =>
  `tool ${JSON.stringify(tool)} of MCP server ${JSON.stringify(server)}`;
