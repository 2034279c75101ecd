/**
 * The rules about tool calls in a configuration: their form, and what is wrong with them.
 *
 * @module
 */
import * as z from "../../protocol/validation.ts";
import { readPath } from "../rules/conditions.ts";
import type { Rule } from "../rules/rules.ts";
import { isRecord } from "../../protocol/names.ts";
import {
  below,
  type ConfigPath,
  type ConfigProblem,
  explainIssues,
  unknownIn,
} from "./problem.ts";

const glob = z.string().check(z.minLength(1));

const absolutePath = z.string().check(
  z.refine(
    (path) => readPath(path) !== undefined,
    'expected an absolute path, such as "/srv/notes" or "C:\\\\notes", without short names such as "PROGRA~1"',
  ),
  // Or a rule would quietly match nothing: a "deny", too.
  z.refine(
    (path) => !path.includes("${"),
    "inputs and variables are not filled in rules: write the path itself",
  ),
);

/** As URLs have it when they are read: an address in numbers has one form alone. */
const isHost = (text: string): boolean =>
  /^(?:[a-z0-9*_-]+(?:\.[a-z0-9*_-]+)*|\[[0-9a-f:.]+\])$/i.test(text) &&
  (text.includes("*") ||
    URL.parse(`http://${text}`)?.hostname === text.toLowerCase());

const host = z.string().check(z.refine(
  isHost,
  'expected a host alone, such as "example.com" or "*.example.com", without scheme, port and path; other letters than ASCII as in "xn--…", addresses as "127.0.0.1" and "[::1]"',
));

/** The conditions of an argument. */
export const conditionsSchema = z.object({
  equals: z.optional(z.unknown()),
  in: z.optional(z.array(z.unknown()).check(z.minLength(1))),
  under: z.optional(absolutePath),
  host: z.optional(host),
  min: z.optional(z.number()),
  max: z.optional(z.number()),
});

/** The arguments of a tool that writes a file. */
export const fileSchema = z.object({
  path: glob,
  content: glob,
  under: absolutePath,
});

/** A rule of a configuration. */
export const ruleSchema = z.object({
  then: z.enum(["allow", "ask", "deny"]),
  agent: z.optional(glob),
  server: z.optional(glob),
  tool: z.optional(glob),
  when: z.optional(z.plainObject),
  others: z.optional(z.literal("any")),
  any: z.optional(z.literal(true)),
  every: z.optional(z.boolean()),
  reason: z.optional(glob),
  file: z.optional(fileSchema),
});

const FIELDS = {
  rule: Object.keys(ruleSchema.shape),
  conditions: Object.keys(conditionsSchema.shape),
  file: Object.keys(fileSchema.shape),
};

/**
 * Reads the rules of a configuration. Where one is wrong, none is returned: without it, another one would
 * decide.
 */
export function readRules(
  data: unknown,
): { readonly rules: Rule[]; readonly problems: ConfigProblem[] } {
  if (data === undefined) return { rules: [], problems: [] };
  if (!Array.isArray(data)) {
    const text =
      'expected a list of rules, such as [{"tool": "read_*", "then": "ask"}]';
    return { rules: [], problems: [{ path: ["rules"], text }] };
  }
  const problems: ConfigProblem[] = [];
  const rules = data.flatMap((entry: unknown, i) => {
    const found = [...unknownFields(entry), ...ruleProblems(entry)];
    problems.push(...below(["rules", i], found));
    // Copied: what a program does with its object later changes no rule.
    return found.length === 0 ? [structuredClone(entry) as Rule] : [];
  });
  return problems.length === 0 ? { rules, problems } : { rules: [], problems };
}

/** Finds fields that there are not, at every depth. */
function unknownFields(entry: unknown): ConfigProblem[] {
  const { when, file } = Object(entry);
  const arguments_ = isRecord(when) ? Object.entries(when) : [];
  return [
    ...unknownIn(entry, FIELDS.rule, "own"),
    ...below(["file"], unknownIn(file, FIELDS.file, "own")),
    ...arguments_.flatMap(([name, conditions]) =>
      below(["when", name], unknownIn(conditions, FIELDS.conditions, "own"))
    ),
  ];
}

function ruleProblems(entry: unknown): ConfigProblem[] {
  const read = ruleSchema.safeParse(entry, z.ENGLISH);
  if (!read.success) {
    return explainIssues(read.error.issues, entry);
  }
  const { when = {} } = read.data;
  return [
    ...Object.entries(when).flatMap(([name, conditions]) =>
      below(["when", name], conditionProblems(conditions))
    ),
    ...combinationProblems(read.data),
  ];
}

function conditionProblems(conditions: unknown): ConfigProblem[] {
  const read = conditionsSchema.safeParse(conditions, z.ENGLISH);
  if (!read.success) return explainIssues(read.error.issues, conditions);
  const { min = -Infinity, max = Infinity } = read.data;
  if (min > max) {
    return [problem(["min"], `it is above "max", so that no number matches`)];
  }
  if (Object.values(read.data).some((one) => one !== undefined)) return [];
  return [
    problem(
      [],
      `it has no condition; use one of ${FIELDS.conditions.join(", ")}`,
    ),
  ];
}

/** Finds fields that do not go together. */
function combinationProblems(
  { then, when, others, any, every, file }: {
    readonly then: Rule["then"];
    readonly when?: unknown;
    readonly others?: unknown;
    readonly any?: unknown;
    readonly every?: unknown;
    readonly file?: unknown;
  },
): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (then === "allow") {
    if (when === undefined && any === undefined) {
      const text =
        'an "allow" names the arguments: add "when", or "any": true for any arguments at all';
      problems.push(problem([], text));
    }
    if (when !== undefined && any !== undefined) {
      const text =
        '"any" allows whatever the arguments are, so "when" would mean nothing; leave one of them out, or write "others": "any"';
      problems.push(problem(["any"], text));
    }
    if (others !== undefined && when === undefined) {
      problems.push(
        problem(["others"], 'it goes with "when"; write "any": true instead'),
      );
    }
  } else {
    for (const [name, value] of Object.entries({ others, any })) {
      if (value === undefined) continue;
      const text =
        `it is for "allow": "${then}" matches whatever other arguments there are; leave it out`;
      problems.push(problem([name], text));
    }
  }
  const { path, content } = Object(file);
  if (path !== undefined && path === content) {
    const text =
      'it is the argument of "path", too: "for an hour" would allow any file';
    problems.push(problem(["file", "content"], text));
  }
  for (const [name, value] of Object.entries({ every, file })) {
    if (value === undefined || then === "ask") continue;
    problems.push(
      problem([name], `it is for "ask", not for "${then}"; leave it out`),
    );
  }
  return problems;
}

const problem = (path: ConfigPath, text: string): ConfigProblem => ({
  path,
  text,
});
