import fc from "fast-check";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { copyAsJson } from "../../../shared/json/copy.ts";

const byText = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Values of which JSON carries something, or which it changes. */
const values: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.string({ unit: "binary" }),
    fc.double(),
    fc.constantFrom<unknown>(null, undefined, true, -0, NaN, Infinity),
    fc.constantFrom<unknown>(
      () => {},
      Symbol("x"),
      new Date(0),
      new Map(),
      Object("text"),
      new Uint8Array(2),
      { toJSON: () => ({ a: undefined }) },
      Object.assign(Object.create(null), { a: 1 }),
      JSON.parse('{"__proto__":{"a":1},"b":[{"__proto__":2}]}'),
      [, 1], // deno-lint-ignore-line no-sparse-arrays
    ),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom("1", "0", "constructor", "x")),
      tie("value"),
      { maxKeys: 4 },
    ),
  ),
})).value;

Deno.test("copyAsJson() makes what writing and parsing makes, and shares no object", () => {
  fc.assert(
    fc.property(values.map((value) => [value]), (value) => {
      const copy = copyAsJson(value);
      assertEquals(copy, byText(value));
      assertEquals(JSON.stringify(copy), JSON.stringify(value));
      assert(!isShared(copy, value));
    }),
    { numRuns: 2_000 },
  );
});

/** Whether any list or object is in both. */
function isShared(copy: unknown, value: unknown): boolean {
  if (typeof copy !== "object" || copy === null) return false;
  if (copy === value) return true;
  return Object.entries(copy).some(([name, item]) =>
    isShared(item, Reflect.get(Object(value), name))
  );
}

Deno.test("copyAsJson() copies what is nested deeply, and throws for what JSON cannot carry", () => {
  let deep: unknown = {};
  for (let levels = 0; levels < 200; levels++) deep = { deep };
  assertEquals(copyAsJson(deep), deep);
  const endless: Record<string, unknown> = {};
  endless.again = endless;
  assertThrows(() => copyAsJson(endless), TypeError);
  assertThrows(() => copyAsJson([1n]), TypeError);
  assertThrows(() => copyAsJson(() => {}), SyntaxError);
  assertEquals(copyAsJson(undefined), undefined);
});
