import fc from "fast-check";
import { assert, assertEquals } from "@std/assert";
import { nameText, plainText, quoted } from "../../../shared/shown_text.ts";
import { steps } from "../../support/texts/steps.ts";
import { hostileText } from "../../support/texts/hostile_text.ts";

/** A text as {@linkcode quoted} shows it, without the quotes. */
const shownText = (text: string): string => quoted(text).slice(1, -1);

Deno.test("quoted() shows by name what cannot be seen, moves its surroundings, or passes for something else", () => {
  const rows: [text: string, shown: string][] = [
    ["a\u202eb", "a⟨U+202E⟩b"],
    ["\u001b[2J", "⟨U+001B⟩[2J"],
    ["\u009b", "⟨U+009B⟩"],
    ["a\nb\tc\r", "a\\nb\\tc\\r"],
    ["\u200b".repeat(256), "⟨256 × U+200B⟩"],
    [`a${" ".repeat(240)}b`, "a⟨240 spaces⟩b"],
    [`a${" ".repeat(7)}b`, `a${" ".repeat(7)}b`],
    ["\u00a0\u3000\u2028", "⟨U+00A0⟩⟨U+3000⟩⟨U+2028⟩"],
    ["\u3164\u115f\u034f\u2800", "⟨U+3164⟩⟨U+115F⟩⟨U+034F⟩⟨U+2800⟩"],
    ["x\ufe0fy\u{e0100}", "x⟨U+FE0F⟩y⟨U+E0100⟩"],
    ["\ud800x\udfff", "⟨U+D800⟩x⟨U+DFFF⟩"],
    ["\ue000\u{f0000}\u0378", "⟨U+E000⟩⟨U+F0000⟩⟨U+0378⟩"],
    ["a\u0301\u0302\u0303", "a⟨U+0301⟩⟨U+0302⟩⟨U+0303⟩"],
    [`a${"\u0301".repeat(48_000)}b`, "a⟨48000 × U+0301⟩b"],
    ["\u0e01\u0e49\u0e49\u0e49", "\u0e01⟨3 × U+0E49⟩"], // a tower of Thai
    ['"\u0338', '\\"⟨U+0338⟩'], // it would strike the quote
    ["p\u0430ypal", "p⟨\u0430 U+0430⟩ypal"],
    ["\u0430dmin \u043e\u0442\u0447\u0451\u0442", "⟨\u0430 U+0430⟩dmin отчёт"],
    ["p\u03b1ss_w\u043erd", "p⟨\u03b1 U+03B1⟩ss_w⟨\u043e U+043E⟩rd"],
    ["ad\u200dmin", "ad⟨U+200D⟩min"],
    [
      "\u{1f3f4}\u{e0068}\u{e0069}\u{e007f}",
      "\u{1f3f4}⟨U+E0068⟩⟨U+E0069⟩⟨U+E007F⟩",
    ],
    ["⟨240 spaces⟩", "⟨U+27E8⟩240 spaces⟨U+27E9⟩"],
  ];
  for (const [text, shown] of rows) assertEquals(shownText(text), shown);
  assertEquals(
    quoted(`a\n\n\nb${"\n".repeat(5)}c`, true),
    '"a\\n\n\\n\n\\n\nb⟨5 line breaks⟩\nc"',
  );
  assertEquals(plainText("a\nb\t"), "a⟨U+000A⟩b⟨U+0009⟩");
  // An escape is no letter of the word after it.
  assertEquals(plainText(quoted("a\tпривет")), '"a\\tпривет"');
  assertEquals(quoted("\\tпривет"), '"\\\\tпривет"');
});

Deno.test("quoted() and plainText() leave correct texts of all scripts, and emoji, as they are", () => {
  const texts = [
    "/files/a.txt && rm -rf '~' # 100 %",
    "отчёт.txt, MCP-сервер, Ελληνικά, Հայերեն",
    "ที่นี่มีผู้ใหญ่ดื่มน้ำ", // Thai
    "שָּׁלוֹם בְּרֵאשִׁ֖ית בָּרָ֣א", // Hebrew, pointed
    "ज़िंदगी लड़कियाँ क्षि र्कों", // Hindi
    "می‌خواهم العَرَبِيَّةُ", // Persian, Arabic
    "ශ්‍රී ලංකා অবন্তী র‍্যাব അവന്‍",
    "မြို့ ក្រុង བོད་སྐད", // Burmese, Khmer, Tibetan
    "Tiếng Việt, cafe\u0301, a\u0323\u0302",
    "日本語 Tシャツ 中文 한국어 \u1112\u1161\u11ab",
    "👩‍⚕️ ❤️‍🔥 1️⃣ 🇩🇪 👍🏽 ↩︎ ℹ️ \u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
  ];
  for (const text of texts) {
    assertEquals(shownText(text), text);
    assertEquals(plainText(text), text);
  }
});

Deno.test("nothing in a quoted text ends its quotes, and nothing is left that acts or cannot be seen", () => {
  const odd =
    /(?! )[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zs}\p{Zl}\p{Zp}\u2800\u3164]| {8}|\p{M}{6}/u;
  fc.assert(fc.property(hostileText(), (text) => {
    const shown = quoted(text);
    assert(!odd.test(shown), shown);
    const inner = shown.slice(1, -1).replaceAll(/\\[\\"nrt]/g, "");
    assert(!/["\\]/.test(inner), shown);
    const lines = quoted(text, true).replaceAll("\n", "");
    assertEquals(lines, shown);
  }));
});

Deno.test("plainText() applied again changes nothing, and keeps what a caller keeps", () => {
  fc.assert(fc.property(hostileText(), (text) => {
    for (const kept of ["", "\n", "\n\t"]) {
      const once = plainText(text, kept);
      assertEquals(plainText(once, kept), once);
      assertEquals(once.includes("\n"), kept !== "" && text.includes("\n"));
    }
    assertEquals(plainText(quoted(text)), quoted(text));
  }));
});

Deno.test("a text is passed once, whatever it is made of", () => {
  const parts = [
    "ж",
    "漢",
    "\u0301",
    "a\u0301\u0302\u0303",
    "\u200b\u200c",
    " ",
  ]
    .concat("\n", "👩‍⚕️", "p\u0430y ", '"', "ज़िं", "\ud800", "a\u200d");
  for (const part of parts) {
    for (const show of [plainText, quoted]) {
      const few = steps(() => show(part.repeat(1_000)));
      const many = steps(() => show(part.repeat(8_000)));
      assert(many <= 9 * few + 100, `${JSON.stringify(part)}: ${many}`);
    }
  }
});

Deno.test("nameText() quotes a name that could be read as more than one", () => {
  const rows: [name: string, shown: string][] = [
    ["planner", "planner"],
    ["key:ops@example.org/a-b_2", "key:ops@example.org/a-b_2"],
    ["планировщик", "планировщик"],
    ["x by y", '"x by y"'],
    ["x: ok", '"x: ok"'],
    ["path:", '"path:"'],
    ["", '""'],
    ['a"', '"a\\""'],
    ["\u200bx", '"⟨U+200B⟩x"'],
    ["(2", '"(2"'],
  ];
  for (const [name, shown] of rows) assertEquals(nameText(name), shown);
});
