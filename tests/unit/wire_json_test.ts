import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import {
  isAscii,
  MAX_DEPTH,
  NO_JSON,
  skipValue,
  startScan,
} from "../../server/wire/scan_json.ts";

/** How many characters belong to the value; in the middle of other bytes, as in a chunk of the network. */
function scan(text: string, before = ""): number {
  const bytes = Buffer.from(`${before}${text}"}]"}]`);
  const start = Buffer.byteLength(before);
  startScan();
  const at = skipValue(bytes, start, 0);
  return at === NO_JSON ? NO_JSON : bytes.toString("utf8", start, at).length;
}

const accepts = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

Deno.test("skipValue() accepts every JSON text, wherever it lies in memory", () => {
  fc.assert(fc.property(
    fc.json({ maxDepth: 6 }),
    fc.string({ maxLength: 9 }),
    (json, before) => assertEquals(scan(json, before), json.length),
  ));
});

Deno.test("skipValue() accepts JSON with whitespace and every escape", () => {
  for (
    const json of [
      ' \t\n\r{ "a" : [ 1 , 2 ] , "b" : { } , "c" : [ ] }',
      '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\uD834\\uDD1E\\uD834"',
      "-0",
      "-0.5e-07",
      "1E+400",
      "0.0",
      '[true,false,null,"",[[]],{}]',
      `"${"a".repeat(100)}\\"${"b".repeat(31)}\\\\${
        "漢字😀".repeat(40)
      }\u007f"`,
    ]
  ) {
    assert(accepts(json), json);
    assertEquals(scan(json.trimStart()), json.trimStart().length, json);
  }
});

Deno.test("skipValue() accepts nothing that JSON.parse refuses: 100,000 mutated texts", () => {
  const bits = '{}[]",:\\ntfu0123456789+-.eE \u0001\n/xé';
  let valid = 0;
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 3 }),
      fc.array(
        fc.tuple(fc.nat(), fc.nat(bits.length - 1), fc.nat(2)),
        { minLength: 1, maxLength: 3 },
      ),
      (json, changes) => {
        let text = json;
        for (const [where, what, how] of changes) {
          const at = where % (text.length + 1);
          text = text.slice(0, at) + (how < 2 ? bits[what] : "") +
            text.slice(at + (how > 0 ? 1 : 0));
        }
        text = text.trimStart();
        const whole = scan(text) === text.length;
        if (whole) valid++;
        // Whitespace behind a value is the caller's.
        assertEquals(whole, accepts(text) && text === text.trimEnd(), text);
      },
    ),
    { numRuns: 100_000 },
  );
  assert(valid > 1000, "some mutations keep a text valid");
});

Deno.test("skipValue() refuses every byte below space in a string, wherever it stands", () => {
  for (const length of [0, 1, 5, 30, 31, 32, 33, 34, 35, 36, 60, 200]) {
    for (const byte of ["\u0000", "\n", "\u001f"]) {
      const text = `"${"x".repeat(length)}${byte}${"y".repeat(40)}"`;
      assertEquals(scan(text), NO_JSON, JSON.stringify(text));
    }
  }
});

Deno.test("skipValue() stops at 64 open brackets", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assertEquals(scan(nested(MAX_DEPTH)), 2 * MAX_DEPTH);
  assertEquals(scan(nested(MAX_DEPTH + 1)), NO_JSON);
  startScan();
  assertEquals(skipValue(Buffer.from(nested(1)), 0, MAX_DEPTH), NO_JSON);
});

Deno.test("isAscii() tells of any other character in a string, also in long ones", () => {
  for (const length of [0, 3, 40, 100, 1000]) {
    for (const [char, ascii] of [["z", true], ["é", false]] as const) {
      scan(`["${"x".repeat(length)}${char}${"y".repeat(length)}"]`);
      assertEquals(isAscii(), ascii, `${length} ${char}`);
    }
  }
});
