/**
 * A plugin of `deno lint` with the rules about the shape of code: few parameters, functions of one
 * screen, and fields written plainly.
 *
 * @module
 */

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

const plugin: Deno.lint.Plugin = {
  name: "shape",
  rules: { "max-parameters": maxParameters, "plain-fields": plainFields },
};
export default plugin;
