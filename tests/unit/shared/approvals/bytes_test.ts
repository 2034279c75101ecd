import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  fromBase64url,
  joinBytes,
  sameBytes,
  toBase64url,
  utf8,
  utf8Text,
} from "../../../../shared/approvals/bytes.ts";

Deno.test("fromBase64url() reads what toBase64url() writes, of any length and with any byte", () => {
  for (let length = 0; length < 70; length++) {
    const bytes = new Uint8Array(length).map((_, at) => 255 - at * 7);
    const text = toBase64url(bytes);
    assert(/^[A-Za-z0-9_-]*$/.test(text), text);
    assertEquals(fromBase64url(text), bytes);
  }
});

Deno.test("fromBase64url() takes one text for each sequence of bytes, and refuses all others", () => {
  assertEquals(fromBase64url("-_8"), Uint8Array.of(0xfb, 0xff));
  const wrong = [
    "+/8", // the other alphabet
    "-_8=", // padding
    "-_9", // stray bits
    "AB", // stray bits
    "A", // no byte
    "AAAAA",
    "AA AA",
    " AAAA",
    "AAAA\n",
    "ÄAAA",
    "ＡAAA",
    "AA.A",
  ];
  for (const text of wrong) {
    assertThrows(() => fromBase64url(text), TypeError, "Expected base64url");
  }
});

Deno.test("utf8Text() refuses what is not UTF-8, and keeps a byte order mark", () => {
  const texts = ["", "é 中 \u{1F600}", "\ufeffa", "\u0000"];
  for (const text of texts) assertEquals(utf8Text(utf8(text)), text);
  const wrong = [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80]];
  for (const bytes of wrong) {
    assertThrows(() => utf8Text(Uint8Array.from(bytes)), TypeError);
  }
});

Deno.test("joinBytes() joins, and sameBytes() compares lengths and all bytes", () => {
  const a = Uint8Array.of(1, 2);
  const b = Uint8Array.of(3);
  assertEquals(joinBytes(a, joinBytes(), b), Uint8Array.of(1, 2, 3));
  assert(sameBytes(a, a.slice()));
  assert(sameBytes(joinBytes(), joinBytes()));
  for (const other of [[1], [1, 3], [0, 2], [1, 2, 0], []]) {
    assert(!sameBytes(a, Uint8Array.from(other)), other.join());
  }
});
