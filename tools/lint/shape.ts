/**
 * A plugin of `deno lint` with the rule about the shape of functions: few parameters.
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

const plugin: Deno.lint.Plugin = {
  name: "shape",
  rules: { "max-parameters": maxParameters },
};
export default plugin;
