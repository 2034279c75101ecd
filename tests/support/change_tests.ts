/** A test as it is registered. */
export type Definition = Deno.TestDefinition;

/** Where Deno reads the location of a test that a function other than its file registers. */
const LOCATION = Symbol.for("Deno.test.location");

/**
 * Replaces `Deno.test` for all that is loaded later: each definition passes through a function, and the
 * result is registered at the location of the original. `Deno.test.only` and alike are left as they are.
 *
 * @param change returns what is registered in place of a definition
 */
export function changeTests(change: (definition: Definition) => Definition) {
  const register = Deno.test;
  const test = (...args: unknown[]): void => {
    const { fn, ...rest } = change(definitionOf(args));
    const located = Object.assign((context: Deno.TestContext) => fn(context), {
      [LOCATION]: callerOf(new Error()),
    });
    register({ ...rest, fn: located });
  };
  Object.defineProperty(Deno, "test", { value: Object.assign(test, register) });
}

/** Returns the definition that the arguments of `Deno.test` make: a name, options and a function, or some of them. */
function definitionOf(args: readonly unknown[]): Definition {
  const given: Partial<Definition> = {};
  for (const arg of args) {
    if (typeof arg === "string") given.name = arg;
    else if (typeof arg === "function") given.fn = arg as Definition["fn"];
    else Object.assign(given, arg);
  }
  const { fn = () => {}, name = fn.name } = given;
  return { ...given, name, fn };
}

/** Returns `URL:LINE:COLUMN` of what called the function in which an error was made. */
const callerOf = ({ stack = "" }: Error): string | undefined =>
  /((?:file|data):\S+:\d+:\d+)\)?$/.exec(stack.split("\n")[2] ?? "")?.[1];
