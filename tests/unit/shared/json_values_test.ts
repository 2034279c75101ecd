import { Buffer } from "node:buffer";
import fc from "fast-check";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { parsePieces } from "../../../shared/json/pieces.ts";
import {
  countValues,
  roomOf,
  ValueCounter,
  weigh,
} from "../../../shared/json/values.ts";

/** Counts by walking: the members of objects twice, those of lists once, an empty container once. */
function walked(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const items = Object.values(value);
  const own = Array.isArray(value) ? items.length : 2 * items.length;
  return items.reduce((sum, item) => sum + walked(item), Math.max(own, 1));
}

const SPACES = fc.constantFrom("", " ", "\n", "\t\r\n ");

/** Whether a member's name has no escape, or is the first one: V8 15 keeps the first value of such a name. */
const isPlainOrFirst = (
  [name]: readonly [string, string],
  at: number,
  all: readonly (readonly [string, string])[],
): boolean =>
  JSON.stringify(name) === `"${name}"` ||
  all.findIndex(([other]) => other === name) === at;

/** JSON texts in any spelling, with names that are special in JavaScript, or given twice. */
const texts: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.json({ maxDepth: 1 }),
    fc.constantFrom('"\\\\"', '"\\""', '"[{:,"', '"\\\\\\"]"', "-0", "1e400"),
    fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
    fc.tuple(fc.array(tie("value"), { maxLength: 6 }), SPACES)
      .map(([items, space]) => `[${space}${items.join(`${space},${space}`)}]`),
    fc.tuple(
      fc.array(
        fc.tuple(
          fc.oneof(
            fc.constantFrom("__proto__", "1", "a", '"', "\\", "toString"),
            fc.string(),
          ),
          tie("value"),
        ),
        { maxLength: 6 },
      ),
      SPACES,
    ).map(([members, space]) =>
      `{${space}${
        members.filter(isPlainOrFirst).map(([name, value]) =>
          `${JSON.stringify(name)}${space}:${space}${value}`
        ).join(`${space},`)
      }${space}}`
    ),
  ),
})).value;

/** A text in a list with enough of other values to be of several pieces, at any depth. */
const longTexts = fc.tuple(texts, fc.array(texts, { maxLength: 8 }), fc.nat(40))
  .map(([first, others, depth]) => {
    const filling = `${"{},".repeat(4_000)}[]`;
    const all = [first, ...others, first].join(
      `,[${filling}],{"a":[${filling}]},`,
    );
    return `${'[1,{"k":'.repeat(depth)}[${all},${filling}]${
      "}]".repeat(depth)
    }`;
  });

const whole = (text: string): { value: unknown; pieces: number } => {
  const work = parsePieces(text);
  for (let pieces = 0;; pieces++) {
    const { done, value } = work.next();
    if (done) return { value, pieces };
  }
};

Deno.test("countValues() counts what a walk of the parsed value counts, whatever is in texts", () => {
  fc.assert(fc.property(texts, (text) => {
    const value = JSON.parse(text);
    const plain = JSON.stringify(value);
    assertEquals(countValues(plain), walked(value), plain);
    assertEquals(weigh(value).values, walked(value), plain);
    // The same, however it is spelt; members that are given twice count twice.
    assert(countValues(text) >= walked(value), text);
  }));
});

Deno.test("ValueCounter counts the same, however a text is cut into chunks", () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 7 }), (text, size) => {
      const bytes = new TextEncoder().encode(text);
      const counter = new ValueCounter();
      for (let at = 0; at < bytes.length; at += size) {
        counter.push(bytes.subarray(at, at + size));
      }
      assertEquals(counter.count, countValues(text));
    }),
  );
});

/** Counts as `ValueCounter` does, byte by byte. */
function countedByByte(chunks: readonly Uint8Array[]): number {
  let count = 0;
  let inText = false;
  let isEscaped = false;
  for (const byte of chunks.flatMap((chunk) => [...chunk])) {
    const char = String.fromCharCode(byte);
    if (!inText) {
      if (char === '"') inText = true;
      else if (",:[{".includes(char)) count++;
    } else if ("\n\r".includes(char)) {
      inText = false;
      isEscaped = false;
    } else if (isEscaped) isEscaped = false;
    else if (char === "\\") isEscaped = true;
    else if (char === '"') inText = false;
  }
  return count;
}

Deno.test("ValueCounter searches long texts, and counts the same as byte by byte", () => {
  const parts = fc.oneof(
    fc.constantFrom(...'"\\\n\r,:[{x'),
    fc.integer({ min: 60, max: 70 }).map((length) => "y".repeat(length)),
    fc.constantFrom('"', "\\", '\\"', "\\\\").chain((part) =>
      fc.integer({ min: 1, max: 80 }).map((times) => part.repeat(times))
    ),
  );
  const chunks = fc.array(
    fc.array(parts, { maxLength: 12 })
      .map((parts) => new TextEncoder().encode(parts.join(""))),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(chunks, fc.boolean(), (chunks, asBuffer) => {
      const counter = new ValueCounter();
      for (const chunk of chunks) {
        counter.push(asBuffer ? Buffer.from(chunk) : chunk);
      }
      assertEquals(counter.count, countedByByte(chunks));
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("ValueCounter takes linear time for texts of many escapes, quotes and lines", () => {
  const part = `${"z".repeat(65)}\\n`;
  for (const text of [`"${part.repeat(60_000)}"`, part.repeat(60_000)]) {
    assertEquals(countValues(`[${text},{}]`), 3);
  }
});

Deno.test("ValueCounter starts outside of a text at each line: a quote in the line of a stream hides nothing", () => {
  const counter = new ValueCounter();
  counter.push(new TextEncoder().encode('id: "\ndata: [{},{}]\n'));
  assertEquals(counter.count, 6); // of them two colons of the lines
  counter.reset();
  assertEquals(counter.push(new TextEncoder().encode('": ["\r{},')), 2);
});

Deno.test("countValues() and weigh() stop soon after the most that is asked for", () => {
  const long = `[${"{},".repeat(1_000_000)}{}]`;
  assert(countValues(long, 10) < 100_000);
  let looked = 0;
  const items = new Proxy([], {
    get: (_, name) => name === "length" ? 1_000_000 : looked++,
  });
  assert(weigh([items], 10).values > 10);
  assert(looked < 100, `${looked}`);
});

Deno.test("roomOf() counts letters, and some for each value", () => {
  assertEquals(roomOf({ ab: ["cde", 1], f: null }), 6 + 6 * 8);
});

Deno.test("weigh() adds the letters of texts and names", () => {
  assertEquals(weigh({ ab: ["cde", 1], f: null }), { values: 6, letters: 6 });
});

Deno.test("parsePieces() makes what JSON.parse makes, in pieces: order, names given twice, __proto__", () => {
  const outcome = fc.check(
    fc.property(longTexts, (text) => {
      const { value, pieces } = whole(text);
      assertEquals(value, JSON.parse(text));
      assertEquals(JSON.stringify(value), JSON.stringify(JSON.parse(text)));
      assert(pieces > 0);
    }),
    { numRuns: 15 },
  );
  assert(!outcome.failed, fc.defaultReportMessage(outcome));
});

Deno.test("parsePieces() yields in proportion to the text, as for many values so for long texts", () => {
  const braces = (count: number) => whole(`[${"{},".repeat(count)}{}]`).pieces;
  const letters = (count: number) =>
    whole(JSON.stringify(Array(count).fill("a".repeat(1_000)))).pieces;
  for (const count of [braces, letters]) {
    const few = count(50_000);
    const many = count(200_000 / (count === letters ? 20 : 1));
    assert(few > 5 && many > 1.5, `${few}, ${many}`);
  }
  assertEquals(whole("[1]").pieces, 0);
});

Deno.test("parsePieces() refuses what JSON.parse refuses, wherever the text is spoilt", () => {
  const filling = "{},".repeat(15_000);
  const long = `{"a":[${filling}{"b":[${filling}[]],"c":1}] ,"d":[]} `;
  const spoil = fc.tuple(
    fc.oneof(fc.nat(long.length), fc.constantFrom(...marks(long))),
    fc.constantFrom(...',:[]{}"1x ', ""),
    fc.nat(2),
  );
  const refuses = (parse: (text: string) => unknown, text: string) => {
    try {
      return void parse(text);
    } catch (error) {
      assert(error instanceof SyntaxError);
      return true;
    }
  };
  fc.assert(
    fc.property(spoil, ([at, mark, cut]) => {
      const text = long.slice(0, at) + mark + long.slice(at + cut);
      assertEquals(refuses(whole, text), refuses(JSON.parse, text), `${at}`);
    }),
    { numRuns: 300 },
  );
  for (const text of ["", "[", "{]", '"a', "[1 2]"]) {
    assertThrows(() => whole(text), SyntaxError);
  }
});

/** The places around the brackets that are not of the filling. */
const marks = (text: string): number[] =>
  [...text.matchAll(/[^{},]+/g)].flatMap(({ 0: found, index }) =>
    Array.from({ length: found.length + 3 }, (_, i) => index + i - 1)
  );
