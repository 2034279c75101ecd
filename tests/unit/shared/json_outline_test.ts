import fc from "fast-check";
import { assertEquals } from "@std/assert";
import { outlineOf } from "../../../shared/json/outline.ts";

const emptied = (value: unknown): unknown =>
  typeof value !== "object" || value === null
    ? value
    : Array.isArray(value)
    ? []
    : {};

Deno.test("outlineOf() keeps the outermost members, with what they contain left out", () => {
  const containers = fc.oneof(
    fc.array(fc.jsonValue(), { maxLength: 20 }),
    fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 20 }),
  );
  fc.assert(fc.property(containers, fc.nat(2), (value, space) => {
    const plain: unknown = JSON.parse(JSON.stringify(value));
    const text = JSON.stringify(value, null, space);
    const expected = Array.isArray(plain)
      ? plain.map(emptied)
      : Object.fromEntries(
        Object.entries(Object(plain)).map((
          [key, item],
        ) => [key, emptied(item)]),
      );
    assertEquals(outlineOf(text), expected);
  }));
});

Deno.test("outlineOf() gives up on what is no container, or has many members", () => {
  const many = JSON.stringify(Array.from({ length: 1_000 }, () => 1));
  for (const text of ["", "1", '"a"', "[1", "{]", many, `{"a":${many}`]) {
    assertEquals(outlineOf(text), undefined, text.slice(0, 20));
  }
});
