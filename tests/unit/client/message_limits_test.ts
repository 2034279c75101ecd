import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  jsonBytes,
  MAX_DEPTH,
  whyUnsendable,
} from "../../../client/message_limits.ts";

Deno.test("whyUnsendable() refuses what is larger than the limit, and nothing else", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("\u0001", "\ud800", '"', "\\", "😀", "ü"),
  );
  fc.assert(
    fc.property(
      fc.dictionary(text, fc.oneof(text, fc.jsonValue(), fc.date())),
      fc.nat(600),
      (message, limit) => {
        const why = whyUnsendable(message, limit);
        assertEquals(why !== undefined, jsonBytes(message) + 64 > limit);
      },
    ),
  );
});

Deno.test("whyUnsendable() refuses what is nested too deeply, also without a limit", () => {
  let deep: object = {};
  for (let level = 1; level < MAX_DEPTH; level++) deep = { deep };
  for (const limit of [undefined, 1e9]) {
    assertEquals(whyUnsendable(deep, limit), undefined);
    assert(whyUnsendable([deep], limit)?.includes("nested deeper"));
  }
});
