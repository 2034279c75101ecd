import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import { scanner } from "../../../../server/wire/json/scanner.ts";
import {
  MAX_DEPTH,
  NO_JSON,
  type Scanner,
  ScriptScanner,
} from "../../../../server/wire/json/script_scanner.ts";
import { hostilePayloads } from "../../../support/wire/hostile_payloads.ts";

/** Where texts are put; WebAssembly has data of its own before. */
const START = 4096;

/** Puts a text into the memory of a scanner, with NULs behind it. */
function put(text: Uint8Array, { memory }: Scanner): void {
  const missing = START + text.length + 128 - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / 65_536));
  const bytes = new Uint8Array(memory.buffer);
  bytes.fill(0, START);
  bytes.set(text, START);
}

const script = new ScriptScanner();

/** Returns what each function finds at the beginning of a text, and whether that is UTF-8. */
function findings(text: Uint8Array, it: Scanner, depth: number) {
  put(text, it);
  return {
    space: it.skipSpace(START),
    string: it.skipString(START),
    key: it.skipKey(START),
    value: it.skipValue(START, depth),
    utf8: it.isUtf8(START, START + text.length),
  };
}

function assertSame(text: Uint8Array, depth = 0): void {
  const expected = findings(text, scanner, depth);
  assertEquals(findings(text, script, depth), expected, String(text));
}

/** Pieces of JSON and of what is nearly JSON. */
const piece = fc.oneof(
  fc.constantFrom(
    ...'{}[]",:\\/bfnrtu0123456789+-.eEa \t\n\r\u0001\u007fé漢😀',
  ),
  fc.constantFrom("true", "false", "null", '"a":', "\\u00", "1e5", "[[", "{}"),
  fc.json({ maxDepth: 2 }),
);
const text = fc.array(piece, { maxLength: 24 }).map((parts) =>
  Buffer.from(parts.join(""))
);

Deno.test("the scanners in JavaScript and in WebAssembly find the same in 100,000 texts", () => {
  fc.assert(
    fc.property(text, fc.nat(MAX_DEPTH), (text, depth) => {
      // The one exception of WebAssembly, see scanner.ts.
      fc.pre(!/[\d.eE+-]{64}/.test(text.toString("latin1")));
      assertSame(text, depth);
    }),
    { numRuns: 100_000 },
  );
});

Deno.test("the scanners agree on bytes that are no text", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 80 }),
      (bytes) => assertSame(bytes),
    ),
    { numRuns: 20_000 },
  );
});

Deno.test("the scanner in JavaScript accepts what JSON.parse accepts, also where it is changed", () => {
  let valid = 0;
  const whole = (text: string) => {
    const bytes = Buffer.from(text);
    put(bytes, script);
    return script.skipValue(START, 0) === START + bytes.length;
  };
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.nat(), piece, (json, at, more) => {
      assert(whole(json), json);
      const where = at % (json.length + 1);
      const changed = (json.slice(0, where) + more + json.slice(where)).trim();
      const accepted = accepts(changed);
      if (accepted) valid++;
      assertEquals(whole(changed), accepted, changed);
    }),
    { numRuns: 20_000 },
  );
  assert(valid > 1000, "some changes keep a text valid");
});

Deno.test("the scanner in JavaScript stops at 64 levels, and at the limits of numbers and escapes", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const end = (text: string, depth = 0) => {
    put(Buffer.from(text), script);
    const end = script.skipValue(START, depth);
    return end === NO_JSON ? NO_JSON : end - START;
  };
  assertEquals(end(nested(MAX_DEPTH)), 2 * MAX_DEPTH);
  assertEquals(end(nested(MAX_DEPTH + 1)), NO_JSON);
  assertEquals(end(nested(MAX_DEPTH), 1), NO_JSON);
  const long = "9".repeat(100);
  const many = `[${"0,".repeat(40)}${long}]`;
  assertEquals(end(many), many.length, "a long number among many parts");
  for (
    const bad of [
      '"\\u12',
      '"\\u123g"',
      '"\\x"',
      '"',
      '"\n"',
      "-",
      "1.",
      "1e",
      "01x,",
      "nul",
      "tru",
    ]
  ) {
    assertEquals(end(bad) === bad.length, false, bad);
  }
});

Deno.test("the scanners agree on hostile payloads of any size, and unmask alike", () => {
  for (const payload of hostilePayloads({ a: 1, b: [{}] }, 300, 7)) {
    assertSame(Buffer.from(JSON.stringify(payload) ?? ""));
  }
  const large = Buffer.from(JSON.stringify("漢字\n".repeat(50_000)));
  assertSame(large);
  for (const it of [scanner, script]) {
    put(large, it);
    it.unmask(START, START + large.length, 0x7f00_e1a5);
  }
  const [a, b] = [scanner, script].map(({ memory }) =>
    Buffer.from(memory.buffer, START, large.length)
  );
  assertEquals(a?.equals(b ?? Buffer.alloc(0)), true);
});

function accepts(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
