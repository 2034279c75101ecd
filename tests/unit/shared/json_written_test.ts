import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { copyAsJson } from "../../../shared/json/copy.ts";
import { countValues } from "../../../shared/json/values.ts";
import {
  keepWritten,
  passWritten,
  writtenOf,
} from "../../../shared/json/written.ts";

const bytes = new TextEncoder().encode("{}");

/** A value as it was parsed, with its text. */
function parsed(json: string): Record<string, unknown> {
  const value = JSON.parse(json);
  keepWritten(value, bytes, () => countValues(json));
  return value;
}

/** Whether the text of a value is kept. */
function keeps(json: string): boolean {
  const value = JSON.parse(json);
  const bytes = new TextEncoder().encode(json);
  keepWritten(value, bytes, () => countValues(json));
  return writtenOf(value) !== undefined;
}

/** Every list and object in a value, the value included. */
function containers(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(containers)];
}

const objects = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }));

Deno.test("writtenOf() returns the text of a value, and of copies that have it passed on", () => {
  fc.assert(fc.property(objects, (object) => {
    const value = parsed(JSON.stringify(object));
    assertEquals(writtenOf(value), bytes);
    const copy = copyAsJson(value);
    assertEquals(writtenOf(Object(copy)), undefined);
    passWritten(value, copy);
    assertEquals(writtenOf(Object(copy)), bytes);
  }));
});

Deno.test("a value that is changed anywhere, or its copy, has no text", () => {
  const change = fc.constantFrom("add", "remove", "replace");
  fc.assert(
    fc.property(objects, fc.nat(), change, (object, which, change) => {
      const value = parsed(JSON.stringify(object));
      const all = containers(value);
      const container = all[which % all.length] ?? {};
      const names = Object.keys(container);
      const name = names[which % names.length];
      if (change === "add" || name === undefined) {
        Object.assign(
          container,
          Array.isArray(container)
            ? { [container.length]: 0 }
            : { [`${names.join()}+`]: 0 },
        );
      } else if (change === "remove" && !Array.isArray(container)) {
        Reflect.deleteProperty(container, name);
      } else Reflect.set(container, name, "replaced by another value");
      assertEquals(writtenOf(value), undefined);
      const copy = copyAsJson(value);
      passWritten(value, copy);
      assertEquals(writtenOf(Object(copy)), undefined);
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("a value with a number above all has no text: readers of JSON differ in it", () => {
  assertEquals(writtenOf(parsed('{"a":[1e400]}')), undefined);
  assertEquals(writtenOf(parsed('{"a":[-0,1e20]}')), bytes);
});

Deno.test("a value with a name that is given twice has no text, nor has one of many values", () => {
  assertEquals(writtenOf(parsed('{"a":1,"b":{"c":[],"c":[]}}')), undefined);
  const list = (count: number) => `{"a":[${"0,".repeat(count - 3)}0]}`;
  assertEquals(writtenOf(parsed(list(1_000))), bytes);
  assertEquals(writtenOf(parsed(list(1_001))), undefined);
});

Deno.test("a value with a number of 64 characters or more has no text: a Server takes less of a packet with one", () => {
  const zeros = (count: number) => "0".repeat(count);
  for (let before = 0; before < 64; before++) {
    const list = (number: string) => `{"a":[${" ".repeat(before)}${number},1]}`;
    for (
      const number of [
        (length: number) => `1${zeros(length - 1)}`,
        (length: number) => `-0.${zeros(length - 4)}1`,
        (length: number) =>
          `-1${zeros(18)}.${zeros(20)}E-${zeros(length - 43)}`,
      ]
    ) {
      assertEquals(keeps(list(number(63))), true, list(number(63)));
      assertEquals(keeps(list(number(64))), false, list(number(64)));
      assertEquals(keeps(list(number(200))), false);
    }
  }
  const line = `1${"-".repeat(62)} ${"-".repeat(1_000)} ${"1.5,".repeat(100)}`;
  assertEquals(keeps(JSON.stringify({ line })), true);
});

Deno.test("a value whose text is mostly space has none: whoever keeps the value would keep that, too", () => {
  const spaced = (spaces: number) => `{"a":[1,"b"]${" ".repeat(spaces)}}`;
  assertEquals([100, 2_000, 1_000_000].map(spaced).map(keeps), [
    true,
    false,
    false,
  ]);
  assertEquals(keeps(`{"a":"${"\\u0041".repeat(100_000)}"}`), true);
});

Deno.test("what is no object has no text, and gets none", () => {
  for (const value of [undefined, null, "text", 1]) {
    passWritten(value, {});
    passWritten({}, value);
  }
  assertEquals(writtenOf({}), undefined);
});
