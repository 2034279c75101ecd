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
} from "../../../../server/wire/scanner_memory.ts";
import { hostilePayloads } from "../../../support/wire/hostile_payloads.ts";
import { compileScan, SCAN_MODULE } from "../../../../tools/compile_scan.ts";

const script = new ScriptScanner();
const SCANNERS: readonly Scanner[] = [scanner, script];

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

/** The length in bytes of the value at the beginning of a text, in front of another string. */
function skip(it: Scanner, text: string, depth = 0): number {
  put(Buffer.from(`${text}"`), it);
  const end = it.skipValue(START, depth);
  return end === NO_JSON ? NO_JSON : end - START;
}

/** Asserts the same of each scanner. */
function assertSkips(text: string, length: number, depth?: number): void {
  for (const it of SCANNERS) assertEquals(skip(it, text, depth), length, text);
}

const accepts = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** From so many parts on a value is read by blocks; `more` in front moves their limits. */
const inBlocks = (json: string, more: string): string =>
  `{"many":[${"0,".repeat(40)}"${more}"],"of":[${json}]}`;

/** Matches the one exception of WebAssembly, which leaves long numbers to another parser. */
const LONG_NUMBER = /[-+.eE\d]{64}/;

/** JSON with numbers of every form, escapes, and whitespace where there may be some. */
const anyJson = fc.letrec<{ value: string }>((tie) => {
  const spaces = ["", "", "", " ", "\n\t", "\r\n  ", " ".repeat(70)];
  const space = fc.constantFrom(...spaces);
  const string = fc.constantFrom(
    ...["", "a", "a b", '{["x":1,]}', "\\", '\\"\\', "\n\t\u0001", "é漢😀"],
    ...["\\".repeat(33), "ab\n".repeat(20), "x".repeat(64), "y".repeat(200)],
  ).map((text) => JSON.stringify(text));
  const scalar = fc.oneof(
    fc.constantFrom(
      ...["0", "-0", "7", "-12", "0.5", "-0.25", "10.0", "3.14159", "1e5"],
      ...["-1.5E-7", "1e+10", "1E+400", "0e0", "1".repeat(60)],
      `${"9".repeat(30)}.${"0".repeat(30)}`,
      ...["true", "false", "null"],
    ),
    string,
  );
  const spaced = fc.tuple(space, tie("value"), space)
    .map((all) => all.join(""));
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

const BITS = '{}[]",:\\ntfu0123456789+-.eE \u0001\n/xé\u0000\t';

/** Changes at places of a text: a character more, another one, or one less. */
const changes = fc.array(
  fc.tuple(fc.nat(), fc.nat(BITS.length - 1), fc.nat(2)),
  { maxLength: 3 },
);

const changed = (json: string, list: [number, number, number][]): string =>
  list.reduce((text, [place, bit, how]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + (how < 2 ? BITS[bit] : "") +
      text.slice(at + (how > 0 ? 1 : 0));
  }, json);

Deno.test("skipValue() accepts what JSON.parse accepts and nothing else: 100,000 values, mutated or not, in blocks or not", () => {
  let valid = 0;
  fc.assert(
    fc.property(
      fc.oneof(anyJson, fc.json({ maxDepth: 4 })),
      changes,
      fc.option(fc.nat(64)),
      (json, list, before) => {
        const damaged = changed(json, list);
        const text = before === null
          ? damaged.trimStart()
          : inBlocks(damaged, " ".repeat(before));
        const accepted = accepts(text);
        if (accepted) valid++;
        for (const it of SCANNERS) {
          const end = skip(it, text);
          const isLong = it === scanner && LONG_NUMBER.test(text);
          if (accepted && !(isLong && end === NO_JSON)) {
            // Whitespace behind a value is the caller's.
            assertEquals(end, Buffer.byteLength(text.trimEnd()), text);
          } else if (end !== NO_JSON) {
            const bytes = Buffer.from(`${text}"`);
            assert(accepts(bytes.toString("utf8", 0, end)), text);
          }
        }
      },
    ),
    { numRuns: 100_000 },
  );
  assert(valid > 10_000 && valid < 90_000, String(valid));
});

Deno.test("skipValue() reads parts of each kind across block boundaries", () => {
  const good = ["-0.5e-7", "12.25", "true", "null", '"\\u00e9"', '"\\\\"']
    .concat('{"a" : [ ] }', '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\uD834\\uDD1E"')
    .concat('"\\uD834\u007f"');
  const bad = [
    ...["01", "-", "1.", ".5", "1.2.3", "1-2", "1e", "truee", "tru", "nulll"],
    ...['"\\x"', '"\\u00g0"', '"\\u12"', '"\n"', '"\0"', '"\u001f"', '"a" "b"'],
    ...["1 2", "[1,]", "[,1]", "[1:2]", '{"a"}', '{"a":}', '{"a":1,}'],
    ...['{"a":1,"b"}', '{"a":"b":1}', "{1:2}", "{[]:1}", '{"a":1,[]}'],
    ...['{,"a":1}', '["a":1]', "[1,{]}", "{]", "[}", '["a"1]'],
  ];
  for (let before = 0; before <= 130; before++) {
    for (const part of good) {
      const text = inBlocks(`${part},${part}`, " ".repeat(before));
      assertSkips(text, Buffer.byteLength(text));
    }
    for (const part of bad) {
      assert(!accepts(part), part);
      assertSkips(inBlocks(`1,${part},1`, " ".repeat(before)), NO_JSON);
    }
  }
});

Deno.test("skipValue() refuses every byte below space in a string, at any position", () => {
  for (let length = 0; length < 70; length++) {
    for (let byte = 0; byte < 32; byte++) {
      const x = "x".repeat(length);
      const y = "y".repeat(40);
      assertSkips(`"${x}${String.fromCharCode(byte)}${y}"`, NO_JSON);
    }
  }
});

Deno.test("skipValue() accepts 64 levels of nesting and no more", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assertSkips(nested(MAX_DEPTH), 2 * MAX_DEPTH);
  assertSkips(nested(MAX_DEPTH + 1), NO_JSON);
  const deep = inBlocks(nested(MAX_DEPTH - 2), "");
  assertSkips(deep, deep.length);
  assertSkips(inBlocks(nested(MAX_DEPTH - 1), ""), NO_JSON);
  assertSkips(nested(1), NO_JSON, MAX_DEPTH);
  const many = `[${"0,".repeat(40)}${"9".repeat(100)}]`;
  assertEquals(skip(script, many), many.length, "long numbers, in JavaScript");
});

Deno.test("skipValue() terminates on every prefix of a text", () => {
  const json = JSON.stringify({
    a: ["x".repeat(40), -1.5e3, true, null, "\\u00e9\n"],
  });
  for (const text of [json, inBlocks(json, "x".repeat(100))]) {
    for (let length = 0; length < text.length; length++) {
      const bytes = Buffer.from(text.slice(0, length));
      for (const it of SCANNERS) {
        put(bytes, it);
        assertEquals(it.skipValue(START, 0), NO_JSON, String(bytes));
      }
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
  const others: string[] = [];
  for (let pair = 0x8000; pair <= 0xffff; pair++) {
    for (const more of [[], [0x80], [0x80, 0x80], [0xbf, 0xbf]]) {
      const bytes = Buffer.from([0x20, pair >> 8, pair & 0xff, ...more, 0x20]);
      if (judge(bytes) !== isUtf8(bytes)) others.push(bytes.toString("hex"));
    }
  }
  assertEquals(others, []);
});

Deno.test("loadText() leaves the bytes of a text with NULs behind them, and makes room for a large one", () => {
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
  const text = "漢é🦊".repeat(memory.length >> 2);
  const bytes = Buffer.from(text);
  const start = loadText(text, bytes.length);
  assert(bytes.equals(memory.subarray(start, start + bytes.length)));
});

Deno.test("the WebAssembly of the scanner is compiled from its source", async () => {
  assertEquals(await compileScan(), await Deno.readTextFile(SCAN_MODULE));
});

/** The ends that each function finds at the beginning of a text, and whether that is UTF-8. */
function findings(text: Uint8Array, it: Scanner, depth: number): string {
  put(text, it);
  return [
    it.skipSpace(START),
    it.skipString(START),
    it.skipKey(START),
    it.skipValue(START, depth),
    it.isUtf8(START, START + text.length),
  ].join();
}

function assertSame(text: Uint8Array, depth = 0): void {
  const [a, b] = SCANNERS.map((it) => findings(text, it, depth));
  assert(a === b, `${a} ${b}: ${text}`);
}

/** Parts of JSON and of texts that are nearly JSON. */
const piece = fc.oneof(
  fc.constantFrom(
    ...'{}[]",:\\/bfnrtu0123456789+-.eEa \t\n\r\u0001\u007fé漢😀',
  ),
  fc.constantFrom("true", "false", "null", '"a":', "\\u00", "1e5", "[[", "{}"),
  fc.json({ maxDepth: 2 }),
);
const pieces = fc.array(piece, { maxLength: 24 })
  .map((parts) => Buffer.from(parts.join("")));

Deno.test("the scanners in JavaScript and in WebAssembly find and unmask the same in 100,000 texts and other bytes", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        { weight: 5, arbitrary: pieces },
        { weight: 1, arbitrary: fc.uint8Array({ maxLength: 80 }) },
      ),
      fc.nat(MAX_DEPTH),
      (bytes, depth) => {
        fc.pre(!LONG_NUMBER.test(Buffer.from(bytes).toString("latin1")));
        assertSame(bytes, depth);
      },
    ),
    { numRuns: 100_000 },
  );
  for (const payload of hostilePayloads({ a: 1, b: [{}] }, 300, 7)) {
    assertSame(Buffer.from(JSON.stringify(payload) ?? ""));
  }
  const large = Buffer.from(JSON.stringify("漢字\n".repeat(50_000)));
  assertSame(large);
  const [a, b] = SCANNERS.map((it) => {
    put(large, it);
    it.unmask(START, START + large.length, 0x7f00_e1a5);
    return Buffer.from(it.memory.buffer, START, large.length);
  });
  assertEquals(a?.equals(b ?? Buffer.alloc(0)), true);
});

/** Counts commas, colons and opening brackets outside of texts, in the simplest way. */
const valuesIn = (text: string): number =>
  [...text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "")]
    .filter((char) => ",:[{".includes(char)).length;

Deno.test("both scanners count the same values: the commas, colons and opening brackets outside of texts", () => {
  const string = fc.string({ unit: fc.constantFrom(...',:[{}]"\\ aé') });
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 4 }),
      fc.array(
        fc.oneof(string, fc.constant({}), fc.dictionary(string, fc.integer())),
        {
          maxLength: 80,
        },
      ),
      fc.nat(3),
      (value, list, blanks) => {
        const text = JSON.stringify([value, list, { list }], null, blanks);
        const bytes = Buffer.from(text);
        const at = load(bytes, 0, bytes.length);
        script.memory.grow(Math.ceil(bytes.length / 65_536));
        new Uint8Array(script.memory.buffer).set(
          memory.subarray(at, at + bytes.length + 128),
          at,
        );
        for (const scanner of SCANNERS) {
          scanner.resetValues();
          assertEquals(scanner.skipValue(at, 0), at + bytes.length);
          assertEquals(scanner.values.value, valuesIn(text), text);
        }
      },
    ),
    { numRuns: 500 },
  );
});
