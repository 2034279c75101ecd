import { assert, assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import {
  END_BYTES,
  type Line,
  LineDecoder,
  type LongLine,
} from "../../../shared/line_decoder.ts";

type Handler = "strict" | "ignore" | "replace";

const MIB = 2 ** 20;
const bytes = (...values: number[]) => new Uint8Array(values);
const utf8 = (text: string) => new TextEncoder().encode(text);
const decoder = (
  encoding = "utf-8",
  encoding_error_handler: Handler = "strict",
  limit = 64 * MIB,
) => new LineDecoder({ encoding, encoding_error_handler }, limit);

/** Pushes a text in chunks of a size, each of which is overwritten then. */
function linesOf(lines: LineDecoder, text: string, size: number) {
  const whole = utf8(text);
  const found: (Line | LongLine)[] = [];
  for (let at = 0; at < whole.length; at += size) {
    const chunk = whole.slice(at, at + size);
    found.push(...lines.push(chunk));
    chunk.fill(0);
  }
  return found;
}

Deno.test("LineDecoder splits lines for any chunking, and keeps one while the next grows in its place", () => {
  for (let size = 1; size <= 15; size++) {
    assertEquals(
      linesOf(decoder(), "one\ntwö\n\nthree", size),
      ["one", "twö", ""].map((text) => ({ text, valid: true })),
      `chunks of ${size}`,
    );
  }
});

Deno.test("LineDecoder reads the named encoding, also in Python's spelling, and treats invalid bytes as encoding_error_handler says", () => {
  const broken = bytes(0x61, 0xff, 0x62, 0x0a);
  const umlaut = bytes(0xe4, 0x0a);
  const written = utf8("a\ufffdb\n"); // by the server itself
  const rows: [
    string,
    Handler,
    Uint8Array<ArrayBuffer>,
    text: string,
    valid?: false,
  ][] = [
    ["utf-8", "strict", broken, "a\ufffdb", false],
    ["utf-8", "ignore", broken, "ab"],
    ["utf-8", "replace", broken, "a\ufffdb"],
    ["utf-8", "strict", written, "a\ufffdb"],
    ["utf-8", "replace", written, "a\ufffdb"],
    ["latin1", "strict", umlaut, "ä"],
    ["latin_1", "strict", umlaut, "ä"],
    ["ISO-8859-1", "strict", umlaut, "ä"],
    ["gbk", "strict", bytes(0xc4, 0xe3, 0x0a), "你"],
  ];
  for (const [encoding, handler, line, text, valid = true] of rows) {
    assertEquals(decoder(encoding, handler).push(line), [{ text, valid }]);
  }
  for (const label of ["utf_8", "utf8", "UTF-8"]) {
    assertEquals(decoder(label).isUtf8, true);
  }
  // Line ends of several bytes are not supported.
  for (const label of ["klingon", "utf-16", "utf-16le"]) {
    assertThrows(() => decoder(label), TypeError, `"${label}"`);
  }
});

Deno.test("LineDecoder gives a long line its bytes, of its own, where they are valid UTF-8", () => {
  const text = "é".repeat(2 ** 12);
  for (const size of [1_000, 2 ** 20]) {
    const [first, second] = linesOf(decoder(), `${text}\n${text}x\n`, size);
    assertEquals(first, { text, valid: true, bytes: utf8(text) });
    assertEquals(Object(second).bytes, utf8(text + "x"));
  }
  const line = utf8(text + "\n");
  const broken = new Uint8Array([0xff, ...line]);
  const bytesOf = (lines: LineDecoder, line: Uint8Array<ArrayBuffer>) =>
    lines.push(line).map((found) => "bytes" in found);
  assertEquals(bytesOf(decoder(), broken), [false]);
  assertEquals(bytesOf(decoder("utf-8", "replace"), line), [false]);
  assertEquals(bytesOf(decoder("latin1"), line), [false]);
  assertEquals(bytesOf(decoder(), line.slice(2)), [false], "a short one");
});

Deno.test("LineDecoder skips each line above the limit for any chunking, keeps its ends, and loses no other line", () => {
  const line = fc.stringMatching(/^[a-z]{0,30}$/);
  const size = fc.integer({ min: 1, max: 40 });
  fc.assert(fc.property(fc.array(line), size, (texts, size) => {
    const limit = 10;
    const lines = decoder("utf-8", "strict", limit);
    const found = linesOf(
      lines,
      texts.map((text) => `${text}\n`).join(""),
      size,
    );
    assertEquals(
      found,
      texts.map((text) =>
        text.length <= limit
          ? { text, valid: true }
          : { head: text, tail: text, bytes: text.length, ended: true }
      ),
    );
  }));
});

Deno.test("LineDecoder keeps the first and last bytes of a line that is much longer, in bounded memory", () => {
  const limit = 8 * MIB;
  const lines = decoder("utf-8", "strict", limit);
  const chunk = utf8("x".repeat(65_536));
  lines.push(utf8("begin"));
  const before = Deno.memoryUsage();
  let most = 0;
  for (let sent = 0; sent < 300 * MIB; sent += chunk.length) {
    assertEquals(lines.push(chunk), []);
    const { external, heapUsed } = Deno.memoryUsage();
    most = Math.max(
      most,
      external + heapUsed - before.external - before.heapUsed,
    );
  }
  const [found] = lines.push(utf8("end\nnext\n"));
  assert(found && "head" in found);
  assertEquals([found.head.slice(0, 6), found.tail.slice(-4)], [
    "beginx",
    "xend",
  ]);
  assertEquals([found.head.length, found.tail.length], [END_BYTES, END_BYTES]);
  assertEquals([found.bytes, found.ended], [300 * MIB + 8, true]);
  // The buffer doubles up to the limit, and both are there meanwhile; so is what is not collected yet.
  assert(most < 10 * limit, `${most / MIB} MiB of 300`);
});

Deno.test("LineDecoder keeps nothing of a chunk, which may be a Buffer", () => {
  const lines = decoder("utf-8", "strict", 10);
  const size = 3 * END_BYTES;
  for (let i = 0; i < 2; i++) {
    const chunk = Buffer.from("x".repeat(size));
    assertEquals(lines.push(chunk), []);
    chunk.buffer.transfer(0);
  }
  const ends = "x".repeat(END_BYTES);
  assertEquals(lines.push(Buffer.from("\n")), [
    { head: ends, tail: ends, bytes: 2 * size, ended: true },
  ]);
});

Deno.test("LineDecoder tells once of a line that never ends, and reads on after it", () => {
  const lines = decoder("utf-8", "strict", 10);
  const chunk = new Uint8Array(64 * MIB).fill(0x78);
  const found: (Line | LongLine)[] = [];
  for (let i = 0; i < 20; i++) found.push(...lines.push(chunk));
  assertEquals(found.map((line) => "ended" in line && line.ended), [false]);
  assertEquals(lines.push(utf8("\nnext\n")), [{ text: "next", valid: true }]);
});
