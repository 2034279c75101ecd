/**
 * Finds the mutants of a source: one operator, condition, constant or call changed, as a replacement of
 * text, so that nothing else of the file changes. Types, comments, imports and texts stay as they are; a
 * string counts as a constant only where something is compared with it.
 *
 * A mutant is identified by its line before and after and the lines around it, not by its file. So a
 * change elsewhere, or a move to another file, draws the same mutants from the same seed.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { parse, type ParserOptions } from "@babel/parser";
import {
  type Expression,
  type Node,
  type PrivateName,
  traverseFast,
} from "@babel/types";

/** A change of a source. */
export interface Mutant {
  /** Eight hexadecimal digits. */
  readonly id: string;
  /** From the root, with `/`. */
  readonly path: string;
  readonly kind: "operator" | "condition" | "constant" | "call";
  /** The number of the first line that changes, from 1. */
  readonly line: number;
  /** The lines where the functions around it begin, the innermost first. */
  readonly functions: readonly number[];
  /** The lines that change, and what they become. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/**
 * What stays as it is, because no test should notice the change. Keep it short: whatever else is not
 * noticed is a gap in the tests, or superfluous.
 */
const LEFT_OUT = {
  /** Calls that write to a log, or that let a process end. */
  calls: /^(?:console|log|logger|this\.#log)\.|\.(?:ref|unref)$/,
  /** Names of durations, whose plain values only a test that waits would notice. */
  durations: /(?:_MS|Ms)$/,
};

/** Each operator, and what it becomes. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  "===": ["!=="],
  "!==": ["==="],
  "==": ["!="],
  "!=": ["=="],
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "**": ["*"],
  "&": ["|"],
  "|": ["&"],
  "^": ["&"],
  "<<": [">>"],
  ">>": ["<<"],
  ">>>": ["<<"],
  "&&": ["||"],
  "||": ["&&"],
  "+=": ["-="],
  "-=": ["+="],
  "*=": ["/="],
  "/=": ["*="],
  "|=": ["&="],
  "&=": ["|="],
  "??=": ["="],
  "||=": ["="],
  "&&=": ["="],
  "++": ["--"],
  "--": ["++"],
};

/** Methods of which a test should notice that the other was called. */
const METHODS = new Map([
  ["some", "every"],
  ["every", "some"],
  ["startsWith", "endsWith"],
  ["endsWith", "startsWith"],
  ["min", "max"],
  ["max", "min"],
  ["floor", "ceil"],
  ["ceil", "floor"],
]);

/** Methods without which the object itself has the type of the result. */
const OPTIONAL_METHODS = new Set([
  ...["check", "concat", "filter", "flat", "normalize", "padStart", "replace"],
  ...["replaceAll", "reverse", "slice", "sort", "subarray", "toLowerCase"],
  ...["toReversed", "toSorted", "toUpperCase", "trim", "trimEnd", "trimStart"],
]);

/** Expressions with a type; any other node of TypeScript is a type. */
const TYPED_EXPRESSIONS = new Set([
  "TSAsExpression",
  "TSInstantiationExpression",
  "TSNonNullExpression",
  "TSSatisfiesExpression",
]);

const FUNCTIONS = new Set([
  ...["ArrowFunctionExpression", "FunctionDeclaration", "FunctionExpression"],
  ...["ClassMethod", "ClassPrivateMethod", "ObjectMethod"],
]);

const OPTIONS: ParserOptions = {
  sourceType: "module",
  plugins: ["typescript", "decoratorAutoAccessors"],
};

/** Lines before and after the changed ones that identify a mutant. */
const CONTEXT = 2;

/** Constants from this on are doubled: one more is seldom a mistake that matters. */
const LARGE = 100;

/** A replacement of text. */
type Edit = readonly [
  kind: Mutant["kind"],
  start: number,
  end: number,
  text: string,
];

/** Returns all mutants of a source, in its order. */
export function findMutants(path: string, source: string): Mutant[] {
  const edits: Edit[] = [];
  const functions: Node[] = [];
  traverseFast(parse(source, OPTIONS), (node) => {
    if (isLeftOut(node, source)) return traverseFast.skip;
    if (FUNCTIONS.has(node.type)) functions.push(node);
    edits.push(...editsOf(node, source));
  });
  const lines = source.split("\n");
  const lineAt = (at: number) => source.slice(0, at).split("\n").length;
  return edits.toSorted(([, a], [, b]) => a - b).map(
    ([kind, start, end, text]) => {
      const first = lineAt(start);
      const last = lineAt(end);
      const from = source.lastIndexOf("\n", start - 1) + 1;
      const to = source.indexOf("\n", end);
      const rest = source.slice(end, to < 0 ? undefined : to);
      const after = `${source.slice(from, start)}${text}${rest}`.split("\n");
      const around = lines.slice(
        Math.max(0, first - 1 - CONTEXT),
        last + CONTEXT,
      );
      const identity = [...around, "", ...after].map((line) => line.trim());
      return {
        id: digest(identity.join("\n")).slice(0, 8),
        path,
        kind,
        line: first,
        functions: functions.map(spanOf)
          .filter((span) => span.start <= start && span.end >= end)
          .map(({ start }) => lineAt(start)).reverse(),
        before: lines.slice(first - 1, last),
        after,
      };
    },
  );
}

/** Returns the source with the change. */
export function mutate(
  source: string,
  { line, before, after }: Mutant,
): string {
  const lines = source.split("\n");
  return lines.toSpliced(line - 1, before.length, ...after).join("\n");
}

/**
 * Draws mutants, at most one of a line: all other mutants keep their place in the order when one is
 * added or goes.
 *
 * @param seed another one draws others
 * @param count how many, where there are enough
 */
export function drawMutants(
  mutants: readonly Mutant[],
  seed: number,
  count: number,
): Mutant[] {
  const lots = mutants.map((mutant) => ({
    mutant,
    lot: digest(`${seed} ${mutant.id}`),
    place: `${mutant.path}:${mutant.line}`,
  }));
  lots.sort((a, b) => a.lot < b.lot ? -1 : 1);
  const places = new Set<string>();
  return lots.filter(({ place }) => !places.has(place) && places.add(place))
    .slice(0, count).map(({ mutant }) => mutant);
}

function* editsOf(node: Node, source: string): Generator<Edit> {
  const { start, end } = spanOf(node);
  const swap = (operator: string, after: Node): Edit[] => {
    const at = source.indexOf(operator, spanOf(after).end);
    return (OPERATORS[operator] ?? []).map((
      text,
    ) => ["operator", at, at + operator.length, text]);
  };
  switch (node.type) {
    case "BinaryExpression":
      if (node.operator === "+" && [node.left, node.right].some(isText)) return;
      yield* swap(node.operator, node.left);
      if (/^[!=]==?$/.test(node.operator)) {
        yield* [node.left, node.right].flatMap(emptied);
      }
      return;
    case "LogicalExpression": {
      yield* swap(node.operator, node.left);
      if (node.operator !== "??") return;
      const at = source.indexOf("??", spanOf(node.left).end);
      return yield ["operator", at, end, ""];
    }
    case "AssignmentExpression":
      return yield* swap(node.operator, node.left);
    case "UpdateExpression": {
      const at = node.prefix ? start : end - 2;
      const [text = ""] = OPERATORS[node.operator] ?? [];
      return yield ["operator", at, at + 2, text];
    }
    case "UnaryExpression":
      if (node.operator !== "!" && node.operator !== "-") return;
      return yield ["operator", start, start + 1, ""];
    case "OptionalMemberExpression":
    case "OptionalCallExpression": {
      yield* editsOfCall(node, source);
      if (!node.optional) return;
      const object = "object" in node ? node.object : node.callee;
      const at = source.indexOf("?.", spanOf(object).end);
      const isName = "computed" in node && !node.computed;
      return yield ["operator", at, at + 2, isName ? "." : ""];
    }
    case "CallExpression":
      return yield* editsOfCall(node, source);
    case "IfStatement":
    case "ConditionalExpression":
      yield ["condition", ...spread(node.test), "true"];
      return yield ["condition", ...spread(node.test), "false"];
    case "ForStatement":
    case "WhileStatement":
    case "DoWhileStatement":
      if (node.test && node.test.type !== "BooleanLiteral") {
        yield ["condition", ...spread(node.test), "false"];
      }
      return;
    case "SwitchCase":
      return yield* node.test ? emptied(node.test) : [];
    case "BooleanLiteral":
      return yield ["constant", start, end, `${!node.value}`];
    case "NumericLiteral": {
      const other = node.value < LARGE ? node.value + 1 : node.value * 2;
      return yield ["constant", start, end, `${other}`];
    }
    case "ExpressionStatement":
      if (isCall(node.expression) && !isLeftOutCall(node.expression, source)) {
        yield ["call", start, end, ";"];
      }
  }
}

/** The edits of a method's call. */
function* editsOfCall(node: Node, source: string): Generator<Edit> {
  const callee = "callee" in node ? node.callee : undefined;
  if (
    callee?.type !== "MemberExpression" &&
    callee?.type !== "OptionalMemberExpression"
  ) return;
  const { object, property } = callee;
  if (property.type !== "Identifier" || callee.computed) return;
  const { start, end } = spanOf(property);
  const other = METHODS.get(property.name);
  if (other !== undefined) yield ["call", start, end, other];
  if (OPTIONAL_METHODS.has(property.name)) {
    const { end: from } = spanOf(object);
    // Behind the parentheses around the object, if any.
    const to = source.slice(from, start).trimEnd().replace(/\s*\??\.$/, "");
    yield ["call", from + to.length, spanOf(node).end, ""];
  }
}

/** Empties a string. */
const emptied = (node: Node): Edit[] =>
  node.type === "StringLiteral" && node.value !== ""
    ? [["constant", ...spread(node), '""']]
    : [];

/** Whether an operand of `+` shows that it joins texts. */
const isText = (node: Expression | PrivateName): boolean =>
  node.type === "StringLiteral" || node.type === "TemplateLiteral" ||
  node.type === "BinaryExpression" && [node.left, node.right].some(isText);

const isCall = (node: Node): boolean =>
  node.type === "AwaitExpression" || node.type === "UnaryExpression"
    ? isCall(node.argument)
    : node.type === "OptionalCallExpression" ||
      node.type === "CallExpression" && node.callee.type !== "Super";

const isLeftOut = (node: Node, source: string): boolean =>
  node.type.startsWith("TS")
    ? !TYPED_EXPRESSIONS.has(node.type)
    : isLeftOutCall(node, source) || isDuration(node, source);

function isLeftOutCall(node: Node, source: string): boolean {
  if (!("callee" in node)) return false;
  const { start, end } = spanOf(node.callee);
  return LEFT_OUT.calls.test(source.slice(start, end));
}

/** Whether a node gives the name of a duration a plain value. */
function isDuration(node: Node, source: string): boolean {
  const { start, end } = spanOf(node);
  const [, name, value] =
    /^([\w#]+)\s*[:=]\s*([\d_.*\s]+)$/.exec(source.slice(start, end)) ?? [];
  return value !== undefined && LEFT_OUT.durations.test(name ?? "");
}

const digest = (text: string): string =>
  createHash("sha256").update(text).digest("hex");

const spanOf = ({ start, end }: Node): { start: number; end: number } => ({
  start: start ?? 0,
  end: end ?? 0,
});

const spread = (node: Node): [number, number] => {
  const { start, end } = spanOf(node);
  return [start, end];
};
