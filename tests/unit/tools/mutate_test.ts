import { assert, assertEquals } from "@std/assert";
import { type TestFile, testsOf } from "../../../tools/mutate/coverage.ts";
import {
  drawMutants,
  findMutants,
  type Mutant,
  mutate,
} from "../../../tools/mutate/mutants.ts";
import {
  countShares,
  type Fate,
  isLow,
  showMutant,
  showShares,
} from "../../../tools/mutate/report.ts";

/** What a source becomes, by mutant. */
const mutantsOf = (source: string): string[] =>
  findMutants("a.ts", source).map((mutant) => mutate(source, mutant));

/** Sources, and all that become of them. */
const CHANGES: Readonly<Record<string, readonly string[]>> = {
  "f(a === b);": [";", "f(a !== b);"],
  "x = a < b;": ["x = a <= b;", "x = a >= b;"],
  "x = (a) >= (b);": ["x = (a) > (b);", "x = (a) < (b);"],
  "x = a + b;": ["x = a - b;"],
  "x = a * b % c;": ["x = a * b * c;", "x = a / b % c;"],
  "x = a << b;": ["x = a >> b;"],
  "x = a && b;": ["x = a || b;"],
  "x = a ?? b;": ["x = a ;"],
  "x = (a ?? (b)).c;": ["x = (a ).c;"],
  "x ??= a;": ["x = a;"],
  "x += a;": ["x -= a;"],
  "x++;": ["x--;"],
  "--x;": ["++x;"],
  "x = !a;": ["x = a;"],
  "x = -a;": ["x = a;"],
  "x = a?.b;": ["x = a.b;"],
  "x = a?.[b];": ["x = a[b];"],
  "x = a?.(b);": ["x = a(b);"],
  "if (a) b = c;": ["if (true) b = c;", "if (false) b = c;"],
  "x = a ? b : c;": ["x = true ? b : c;", "x = false ? b : c;"],
  "while (a) b = c;": ["while (false) b = c;"],
  "for (; a;) b = c;": ["for (; false;) b = c;"],
  "while (true) b = c;": ["while (false) b = c;"],
  "x = true;": ["x = false;"],
  "x = 1;": ["x = 2;"],
  "x = 1_000;": ["x = 2000;"],
  'x = a === "b";': ['x = a !== "b";', 'x = a === "";'],
  'switch (a) { case "b": }': ['switch (a) { case "": }'],
  "f();": [";"],
  "await a.f();": [";"],
  "void a?.();": [";", "void a();"],
  "x = a.some(f);": ["x = a.every(f);"],
  "x = Math.min(a, b);": ["x = Math.max(a, b);"],
  "x = a.trim();": ["x = a;"],
  "x = (a)\n  .filter(f) as B;": ["x = (a) as B;"],
  "x = a?.slice(b);": ["x = a.slice(b);", "x = a;"],
};

Deno.test("findMutants() changes operators, conditions, constants and calls", () => {
  for (const [source, changed] of Object.entries(CHANGES)) {
    const mutants = mutantsOf(source).toSorted();
    assertEquals(mutants, changed.toSorted(), source);
  }
});

/** Sources that stay as they are. */
const UNCHANGED: Readonly<Record<string, string>> = {
  "a comment": "// a === b\n/** if (true) 1 */",
  "an import": 'import { a } from "./a.ts";\nexport * from "./b.ts";',
  "a type":
    'type A = { a?: 1 | true | "b" };\ninterface B { c: A extends B ? 1 : 2 }',
  "the type of an expression": "x = a as 1 satisfies true | 2;",
  "the type of a parameter": "const f = (a: 1 | true, b?: 2): a is 1 => a;",
  "a declaration": "declare const a: 1;\ndeclare function f(a: true): 2;",
  "a text": 'x = "a";\ny = `b`;\nz = "c" + d + `e`;',
  "an argument": 'x = f("a");',
  "super()": "class A extends B { constructor() { super(); } }",
  "a log":
    'log.warn("a", { b: c === 1 });\nclass A { #log; f() { this.#log.info(d()); } }',
  "unref()": "timer.unref();\ntimer?.unref?.();",
  "a duration": "const CLOSE_MS = 60 * 1000;\nx = { waitMs: 5 };",
  "an endless loop": "for (;;) x = a;",
};

Deno.test("findMutants() leaves types, texts, logs, durations and declarations as they are", () => {
  for (const [name, source] of Object.entries(UNCHANGED)) {
    assertEquals(mutantsOf(source), [], name);
  }
});

Deno.test("findMutants() reads the syntax of today", () => {
  const source = `using a = b;
await using c = d;
class E<const T> { accessor f = g; #h?: T; static { if (#h in this) i(); } }
const { j, ...k } = l satisfies M;`;
  assertEquals(findMutants("a.ts", source).map(({ line }) => line), [3, 3, 3]);
});

Deno.test("a mutant names its place, and shows the lines that it changes", () => {
  const [mutant] = findMutants("a.ts", "x = y;\n\nawait f(\n  z,\n);\n");
  assert(mutant !== undefined);
  assertEquals(
    showMutant(mutant, "room", "not noticed"),
    `a.ts:3  room, call, ${mutant.id}, not noticed
- await f(
-   z,
- );
+ ;
`,
  );
});

/** Fifty lines with mutants, between empty ones. */
const SOURCE = Array.from(
  { length: 54 },
  (_, at) => at < 2 || at > 51 ? "" : `if (a${at} === ${at}) f${at}();`,
).join("\n");
const idsOf = (mutants: readonly Mutant[]) => mutants.map(({ id }) => id);

Deno.test("drawMutants() draws the same from a seed, and others from another", () => {
  const mutants = findMutants("a.ts", SOURCE);
  const drawn = idsOf(drawMutants(mutants, 1, 20));
  assertEquals(new Set(drawn).size, 20);
  assertEquals(idsOf(drawMutants(mutants.toReversed(), 1, 20)), drawn);
  assert(String(idsOf(drawMutants(mutants, 2, 20))) !== String(drawn));
});

Deno.test("drawMutants() draws one of a line", () => {
  const lines = drawMutants(findMutants("a.ts", SOURCE), 1, 300)
    .map(({ line }) => line);
  assertEquals(lines.length, 50);
  assertEquals(new Set(lines).size, 50);
});

Deno.test("drawMutants() draws the same after a move to another file, and where most lines are as they were", () => {
  const drawn = idsOf(drawMutants(findMutants("a.ts", SOURCE), 1, 20));
  const moved = `import "./c.ts";\n\n${SOURCE.replaceAll(/^/gm, "  ")}`;
  assertEquals(idsOf(drawMutants(findMutants("b.ts", moved), 1, 20)), drawn);
  const longer = findMutants("b.ts", `${SOURCE}\nif (b) g();`);
  const kept = idsOf(drawMutants(longer, 1, 20));
  assert(drawn.filter((id) => kept.includes(id)).length >= 17);
});

const fileWith = (file: string, over: Partial<TestFile> = {}): TestFile => ({
  file,
  key: "",
  passes: true,
  ms: 100,
  sources: { "a.ts": { 1: true, 3: true } },
  ...over,
});

/** The names of the tests of a mutant in a function without a name, in the function of line 3. */
function testsOfMutant(tests: readonly TestFile[]): string[] {
  const source = "const f = () => a;\n\nfunction g() {\n  h(() => b + c);\n}";
  const mutant = findMutants("a.ts", source).at(-1);
  assert(mutant !== undefined);
  assertEquals(mutant.functions, [4, 3]);
  return testsOf(mutant, tests).map(({ file }) => file);
}

Deno.test("testsOf() takes tests that run the function of a mutant and pass: unit tests first, and quick ones", () => {
  const tests = testsOfMutant([
    fileWith("tests/e2e/quick_test.ts", { ms: 1 }),
    fileWith("tests/unit/slow_test.ts", { ms: 300 }),
    fileWith("tests/unit/quick_test.ts"),
    fileWith("tests/unit/failing_test.ts", { passes: false }),
    fileWith("tests/unit/other_test.ts", {
      sources: { "a.ts": { 1: true, 3: false } },
    }),
    fileWith("tests/unit/elsewhere_test.ts", { sources: { "b.ts": {} } }),
  ]);
  assertEquals(tests, [
    "tests/unit/quick_test.ts",
    "tests/unit/slow_test.ts",
    "tests/e2e/quick_test.ts",
  ]);
});

Deno.test("testsOf() leaves out tests that run the function by the way", () => {
  const rare = fileWith("tests/e2e/rare_test.ts", {
    ms: 1000,
    sources: { "a.ts": { 3: true, 9: true } },
  });
  const tests = Array.from(
    { length: 100 },
    (_, at) => fileWith(`tests/e2e/${at}_test.ts`, { ms: at }),
  );
  const taken = testsOfMutant([...tests, rare]);
  assertEquals([taken.length, taken.at(-1)], [8, rare.file]);
});

Deno.test("testsOf() takes all tests that load a source for what runs as it is loaded", () => {
  const [mutant] = findMutants("a.ts", "const a = 1;");
  assert(mutant !== undefined);
  const idle = { "a.ts": { 1: false } };
  const tests = [fileWith("tests/unit/a_test.ts", { sources: idle })];
  assertEquals(testsOf(mutant, tests), tests);
});

Deno.test("the table counts what was tried by room, and says where that is too little", () => {
  const [mutant] = findMutants("a.ts", "f();");
  assert(mutant !== undefined);
  const tried = (room: string, ...fates: readonly Fate[]) =>
    fates.map((fate) => ({ room, mutant, fate }));
  const shares = countShares([
    ...tried("good", "noticed", "noticed", "noticed", "not noticed"),
    ...tried("poor", "noticed", "noticed", "not run", "not reached"),
    ...tried("late", "not reached"),
  ], { good: 0.75, poor: 0.67, late: 0.9 });
  assertEquals(shares.map(isLow), [false, true, false]);
  assertEquals(
    showShares(shares),
    `room  mutants  noticed  not noticed  share          floor
good        4        3            1   75 %           75 %
poor        3        2            1   66 %  67 %: too few  1 not reached
late        0        0            0                  90 %  1 not reached`,
  );
});
