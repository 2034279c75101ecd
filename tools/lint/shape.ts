/**
 * A plugin of `deno lint` with the rules about the shape of code: few parameters, functions of one
 * screen, and fields written plainly.
 *
 * @module
 */
import { HOUSE } from "./layering_rules.ts";
import { LONG_FUNCTIONS } from "./long_functions.ts";
import { fileOf } from "./paths.ts";

/** The largest number of parameters of a function, method, constructor, or signature of one. */
export const MAX_PARAMETERS = 4;

/** A node with parameters. */
type Callable = Deno.lint.Node & {
  readonly params: readonly Deno.lint.Node[];
};

/** All nodes with parameters; a method and a constructor have a function as their value. */
const CALLABLES = [
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "TSDeclareFunction",
  "TSEmptyBodyFunctionExpression",
  "TSFunctionType",
  "TSMethodSignature",
  "TSCallSignatureDeclaration",
  "TSConstructSignatureDeclaration",
  "TSConstructorType",
].join(", ");

const maxParameters: Deno.lint.Rule = {
  create: (context) => ({
    [CALLABLES](node: Callable) {
      // `this` is a type, no parameter.
      const count = node.params.filter((param) => !isThis(param)).length;
      if (count <= MAX_PARAMETERS) return;
      context.report({
        node,
        message: `Takes ${count} parameters; the limit is ${MAX_PARAMETERS}`,
        hint: "Pass those that belong together as one object",
      });
    },
  }),
};

const isThis = (param: Deno.lint.Node): boolean =>
  param.type === "Identifier" && param.name === "this";

/** Fields that are wrapped only so that the formatter puts several on a line. */
const plainFields: Deno.lint.Rule = {
  create: (context) => ({
    "ObjectExpression > SpreadElement > ObjectExpression"(node) {
      context.report({
        node,
        message: "Spreads an object that is written here",
        hint: "Write its fields in the outer object, one a line",
      });
    },
    "VariableDeclarator[id.type='ArrayPattern'][init.type='ArrayExpression']"(
      node: Deno.lint.VariableDeclarator,
    ) {
      const { init } = node;
      if (init?.type !== "ArrayExpression") return;
      // `const [first = 0] = [...all]` reads an iterable.
      if (init.elements.some((one) => one.type === "SpreadElement")) return;
      context.report({
        node,
        message: "Assigns several variables as a list",
        hint: "Declare each one by itself",
      });
    },
  }),
};

/** The largest number of lines of a function: a screen. */
export const MAX_LINES = 60;

/** A function with a body. */
type Body =
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression
  | Deno.lint.ArrowFunctionExpression;

const maxLines: Deno.lint.Rule = {
  create: (context) => {
    const file = fileOf(context);
    if (!isSource(file)) return {};
    const long = LONG_FUNCTIONS[file] ?? [];
    return {
      "FunctionDeclaration, FunctionExpression, ArrowFunctionExpression"(
        node: Body,
      ) {
        const lines = context.sourceCode.getText(node).split("\n").length;
        if (lines <= MAX_LINES || long.includes(nameOf(node))) return;
        context.report({
          node,
          message: `${
            nameOf(node)
          } has ${lines} lines; the limit is ${MAX_LINES}`,
          hint: "Move a part that has a name of the domain into a function",
        });
      },
    };
  },
};

/** Returns whether a file is part of the package; tests and tools may have longer functions. */
const isSource = (file: string): boolean =>
  HOUSE.some((room) => file.startsWith(`${room}/`)) || !file.includes("/");

/** Returns the name of a function, or of what holds it. */
function nameOf(node: Body): string {
  if (node.type !== "ArrowFunctionExpression" && node.id) return node.id.name;
  const { parent } = node;
  const holder = parent.type === "VariableDeclarator"
    ? parent.id
    : "key" in parent
    ? parent.key
    : undefined;
  switch (holder?.type) {
    case "Identifier":
      return holder.name;
    case "PrivateIdentifier":
      return `#${holder.name}`;
    default:
      return "a function without a name";
  }
}

const plugin: Deno.lint.Plugin = {
  name: "shape",
  rules: {
    "max-parameters": maxParameters,
    "plain-fields": plainFields,
    "max-lines": maxLines,
  },
};
export default plugin;
