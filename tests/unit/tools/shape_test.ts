import { assertEquals } from "@std/assert";
import plugin, { MAX_PARAMETERS } from "../../../tools/lint/shape.ts";

/** Returns the findings of the plugin for a source, as `message`. */
const faults = (source: string): string[] =>
  Deno.lint.runPlugin(plugin, "server/a.ts", source).map(({ id, message }) =>
    `${id}: ${message}`
  );

/** Declarations of each kind that has parameters. */
const KINDS: Readonly<Record<string, (parameters: string) => string>> = {
  "a function": (p) => `function f(${p}) {}`,
  "a function expression": (p) => `const f = function (${p}) {};`,
  "an arrow function": (p) => `const f = (${p}) => {};`,
  "a generator": (p) => `async function* f(${p}) {}`,
  "a method": (p) => `class A { m(${p}) {} }`,
  "a private method": (p) => `class A { #m(${p}) {} }`,
  "a static field": (p) => `class A { static f = (${p}) => {}; }`,
  "a constructor": (p) => `class A { constructor(${p}) {} }`,
  "an abstract method": (p) => `abstract class A { abstract m(${p}): void; }`,
  "a method of an object": (p) => `const a = { m(${p}) {} };`,
  "an overload": (p) => `declare function f(${p}): void;`,
  "a type of a function": (p) => `type F = (${p}) => void;`,
  "a type of a constructor": (p) => `type F = new (${p}) => A;`,
  "a method of an interface": (p) => `interface A { m(${p}): void }`,
  "a call of an interface": (p) => `interface A { (${p}): void }`,
  "a constructor of an interface": (p) => `interface A { new (${p}): A }`,
};

/** A list of parameters. */
const parameters = (count: number): string =>
  Array.from({ length: count }, (_, i) => `p${i}: P`).join(", ");

for (const [kind, declare] of Object.entries(KINDS)) {
  Deno.test(`shape: ${kind} takes at most ${MAX_PARAMETERS} parameters`, () => {
    assertEquals(faults(declare(parameters(MAX_PARAMETERS))), []);
    assertEquals(faults(declare(parameters(MAX_PARAMETERS + 1))), [
      "shape/max-parameters: Takes 5 parameters; the limit is 4",
    ]);
  });
}

Deno.test("shape: defaults, patterns, rests and properties count as one parameter each, `this` as none", () => {
  const four = "a = 1, { b, c, d }: B, [e, f]: E, ...g: G[]";
  assertEquals(faults(`function f(${four}) {}`), []);
  assertEquals(faults(`function f(this: A, ${four}) {}`), []);
  assertEquals(faults(`function f(a: A, ${four}) {}`).length, 1);
  assertEquals(
    faults("class A { constructor(private a: A, b: B, c: C, d: D, e: E) {} }")
      .length,
    1,
  );
});

Deno.test("shape: a function within another is counted by itself", () => {
  const source = `function f(${parameters(4)}) { return (${
    parameters(5)
  }) => (${parameters(6)}) => {}; }`;
  assertEquals(faults(source), [
    "shape/max-parameters: Takes 5 parameters; the limit is 4",
    "shape/max-parameters: Takes 6 parameters; the limit is 4",
  ]);
});
