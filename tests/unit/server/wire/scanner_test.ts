import fc from "fast-check";
import { Buffer, isUtf8 } from "node:buffer";
import { assert, assertEquals } from "@std/assert";
import {
  MAX_DEPTH,
  NO_JSON,
  type Scanner,
  ScriptScanner,
} from "../../../../server/wire/script_scanner.ts";
import {
  load,
  loadText,
  memory,
  scanner,
} from "../../../../server/wire/text_packet.ts";
import { hostilePayloads } from "../../../support/wire/hostile_payloads.ts";
import { compileScan, SCAN_MODULE } from "../../../../tools/compile_scan.ts";

/** Returns the length of the value at the beginning. */
function scan(text: string): number {
  const bytes = Buffer.from(`more${text}"}]"}]`);
  const start = load(bytes, 4, bytes.length - 5);
  const end = scanner.skipValue(start, 0);
  return end === NO_JSON
    ? NO_JSON
    : bytes.toString("utf8", 4, 4 + end - start).length;
}

const accepts = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

Deno.test("skipValue() accepts every JSON text", () => {
  fc.assert(fc.property(
    fc.json({ maxDepth: 6 }),
    (json) => assertEquals(scan(json), json.length),
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

/** From so many parts on a value is read by blocks; what `more` puts in front moves their limits. */
const inBlocks = (json: string, more: string): string =>
  `{"many":[${"0,".repeat(40)}"${more}"],"of":[${json}]}`;

/** Matches numbers of at least 64 characters. */
const LONG_NUMBER = /[-+.eE\d]{64}/;

/** JSON with numbers of every form, escapes, and whitespace where there may be some. */
const anyJson = fc.letrec<{ value: string }>((tie) => {
  const space = fc.constantFrom(
    "",
    "",
    "",
    " ",
    "\n\t",
    "\r\n  ",
    " ".repeat(70),
  );
  const number = fc.constantFrom(
    ...["0", "-0", "7", "-12", "0.5", "-0.25", "10.0", "3.14159", "1e5"],
    ...[
      "-1.5E-7",
      "1e+10",
      "0e0",
      "1".repeat(60),
      `${"9".repeat(30)}.${"0".repeat(30)}`,
    ],
  );
  const string = fc.constantFrom(
    ...["", "a", "a b", '{["x":1,]}', "\\", '\\"\\', "\n\t\u0001", "é漢😀"],
    ...["\\".repeat(33), "ab\n".repeat(20), "x".repeat(64), "y".repeat(200)],
  ).map((text) => JSON.stringify(text));
  const scalar = fc.oneof(
    number,
    string,
    fc.constantFrom("true", "false", "null"),
  );
  const spaced = fc.tuple(space, tie("value"), space).map((all) =>
    all.join("")
  );
  const member = fc.tuple(space, string, space, spaced)
    .map(([before, key, behind, value]) => `${before}${key}${behind}:${value}`);
  const list = (items: fc.Arbitrary<string>) =>
    fc.tuple(space, fc.array(items, { maxLength: 6 }))
      .map(([space, items]) => items.length === 0 ? space : items.join(","));
  return {
    value: fc.oneof(
      { depthSize: "small" },
      scalar,
      list(spaced).map((items) => `[${items}]`),
      list(member).map((items) => `{${items}}`),
      scalar.map((scalar) => `{"\\u00e9\\"":[${scalar},{},[]]}`),
    ),
  };
}).value;

Deno.test("skipValue() agrees with JSON.parse on 100,000 values of many parts, mutated or not", () => {
  const bits = '{}[]",:\\ntfu0123456789+-.eE \u0001\n/xé\u0000\t';
  let valid = 0;
  fc.assert(
    fc.property(
      anyJson,
      fc.nat(64),
      fc.array(
        fc.tuple(fc.nat(), fc.nat(bits.length - 1), fc.nat(2)),
        { maxLength: 2 },
      ),
      (json, before, changes) => {
        let changed = json;
        for (const [where, what, how] of changes) {
          const at = where % (changed.length + 1);
          changed = changed.slice(0, at) + (how < 2 ? bits[what] : "") +
            changed.slice(at + (how > 0 ? 1 : 0));
        }
        const text = inBlocks(changed, " ".repeat(before));
        const accepted = accepts(text);
        if (accepted) valid++;
        const end = scan(text);
        // A mutation can make two long numbers one, which is left to another parser.
        const refused = end === NO_JSON && LONG_NUMBER.test(text);
        if (accepted && !refused) assertEquals(end, text.length, text);
        else if (end !== NO_JSON) assert(accepts(text.slice(0, end)), text);
      },
    ),
    { numRuns: 100_000 },
  );
  assert(valid > 10_000 && valid < 90_000, String(valid));
});

Deno.test("skipValue() reads parts of each kind across block boundaries", () => {
  for (
    const good of [
      "-0.5e-7",
      "12.25",
      "true",
      "null",
      '"\\u00e9"',
      '"\\\\"',
      '{"a" : [ ] }',
    ]
  ) {
    for (let before = 0; before <= 130; before++) {
      const text = inBlocks(`${good},${good}`, " ".repeat(before));
      assertEquals(scan(text), text.length, text);
    }
  }
  for (
    const bad of [
      ...["01", "-", "1.", ".5", "1.2.3", "1-2", "1e", "truee", "tru", "nulll"],
      ...[
        '"\\x"',
        '"\\u00g0"',
        '"\n"',
        '"a" "b"',
        "1 2",
        "[1,]",
        "[,1]",
        "[1:2]",
      ],
      ...['{"a"}', '{"a":}', '{"a":1,}', '{"a":1,"b"}', '{"a":"b":1}', "{1:2}"],
      ...[
        "{[]:1}",
        '{"a":1,[]}',
        '{,"a":1}',
        '["a":1]',
        "[1,{]}",
        "{]",
        "[}",
        '["a"1]',
      ],
    ]
  ) {
    assert(!accepts(bad), bad);
    for (let before = 0; before <= 130; before++) {
      const text = inBlocks(`1,${bad},1`, " ".repeat(before));
      assertEquals(scan(text), NO_JSON, text);
    }
  }
});

Deno.test("skipValue() refuses every byte below space in a string, at any position", () => {
  for (const length of [0, 1, 5, 30, 31, 32, 33, 34, 35, 36, 60, 200]) {
    for (const byte of ["\u0000", "\n", "\u001f"]) {
      const text = `"${"x".repeat(length)}${byte}${"y".repeat(40)}"`;
      assertEquals(scan(text), NO_JSON, JSON.stringify(text));
    }
  }
});

Deno.test("skipValue() accepts 64 levels of nesting and no more", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assertEquals(scan(nested(MAX_DEPTH)), 2 * MAX_DEPTH);
  assertEquals(scan(nested(MAX_DEPTH + 1)), NO_JSON);
  const deep = inBlocks(nested(MAX_DEPTH - 2), "");
  assertEquals(scan(deep), deep.length);
  assertEquals(scan(inBlocks(nested(MAX_DEPTH - 1), "")), NO_JSON);
  const start = load(Buffer.from(nested(1)), 0, 2);
  assertEquals(scanner.skipValue(start, MAX_DEPTH), NO_JSON);
});

Deno.test("skipValue() terminates on every prefix of a text", () => {
  const json = JSON.stringify({
    a: ["x".repeat(40), -1.5e3, true, null, "\\u00e9\n"],
  });
  for (const text of [json, inBlocks(json, "x".repeat(100))]) {
    for (let length = 0; length < text.length; length++) {
      assertEquals(scan(text.slice(0, length)), NO_JSON, text.slice(0, length));
    }
  }
});

Deno.test("isUtf8() agrees with the runtime's own on every kind of text and damage", () => {
  const judge = (bytes: Buffer): boolean => {
    const start = load(bytes, 0, bytes.length);
    return scanner.isUtf8(start, start + bytes.length) === 1;
  };
  let valid = 0;
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 60 }),
      fc.nat(40),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 }),
      (text, spaces, damage) => {
        const bytes = Buffer.from(" ".repeat(spaces) + text);
        for (const [at, byte] of damage) bytes[at % (bytes.length || 1)] = byte;
        const expected = isUtf8(bytes);
        if (expected) valid++;
        assertEquals(judge(bytes), expected, bytes.toString("hex"));
      },
    ),
    { numRuns: 20_000 },
  );
  assert(valid > 1000 && valid < 19_000, String(valid));
  // Every pair of bytes, and what they may begin.
  for (let first = 0x80; first <= 0xff; first++) {
    for (let second = 0; second <= 0xff; second++) {
      for (const more of [[], [0x80], [0x80, 0x80], [0xbf, 0xbf]]) {
        const bytes = Buffer.from([0x20, first, second, ...more, 0x20]);
        assertEquals(judge(bytes), isUtf8(bytes), bytes.toString("hex"));
      }
    }
  }
});

Deno.test("loadText() leaves the bytes of a text with NULs behind them, whatever was there", () => {
  const half = fc.constantFrom("\ud800", "\udc00", "\ud83d");
  const any = fc.array(fc.oneof(fc.string({ unit: "binary" }), half));
  fc.assert(fc.property(any, fc.nat(200), (parts, more) => {
    const text = parts.join("");
    const bytes = Buffer.from(text);
    const longer = "x".repeat(bytes.length + more);
    loadText(longer, longer.length);
    const start = loadText(text, Buffer.byteLength(text));
    const left = memory.subarray(start, start + bytes.length + 128);
    assert(left.equals(Buffer.concat([bytes, Buffer.alloc(128)])), text);
  }));
});

Deno.test("loadText() makes room for a text larger than the memory", () => {
  const text = "漢é🦊".repeat(memory.length >> 2);
  const bytes = Buffer.from(text);
  const start = loadText(text, bytes.length);
  assert(bytes.equals(memory.subarray(start, start + bytes.length)));
});

Deno.test("the WebAssembly of the scanner is compiled from its source", async () => {
  assertEquals(await compileScan(), await Deno.readTextFile(SCAN_MODULE));
});

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
