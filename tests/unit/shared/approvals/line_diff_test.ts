import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  diffLines,
  nearChanges,
} from "../../../../shared/approvals/line_diff.ts";
import { framedText } from "../../../../shared/shown_text.ts";

const text = fc.array(fc.constantFrom("a", "b", "", "- a", "c"), {
  maxLength: 30,
}).map((lines) => lines.join("\n"));

Deno.test("a change shows all of both texts, and nothing else", () => {
  fc.assert(fc.property(text, text, (before, after) => {
    const lines = diffLines(before, after);
    const of = (kind: string) =>
      lines.filter((line) => line[0] === " " || line[0] === kind)
        .map(([, line]) => line).join("\n");
    assertEquals(of("-"), before);
    assertEquals(of("+"), after);
    if (before === after) assert(lines.every(([kind]) => kind === " "));
  }));
});

Deno.test("a change of very many lines is shown, too", () => {
  const before = Array.from({ length: 3000 }, (_, i) => `a${i}`).join("\n");
  const after = Array.from({ length: 3000 }, (_, i) => `b${i}`).join("\n");
  const lines = diffLines(before, after);
  assertEquals(lines.length, 6000);
  assertEquals(nearChanges(lines).length, 6000);
});

Deno.test("lines that are left out stay as they are, and are counted", () => {
  fc.assert(fc.property(text, text, (before, after) => {
    const lines = diffLines(before, after);
    const kept = nearChanges(lines);
    let at = 0;
    for (const each of kept) {
      if (typeof each !== "number") {
        assertEquals(each, lines[at]);
        at++;
        continue;
      }
      for (let i = 0; i < each; i++) assertEquals(lines[at++]?.[0], " ");
    }
    assertEquals(at, lines.length);
  }));
});

Deno.test("threat 3: a framed text has a notation only where it is true, and keeps its lines", () => {
  assertEquals(framedText('a "b" \\c\n\td'), 'a "b" \\c\n⇥d');
  assertEquals(framedText("⟨U+202E⟩"), "⟨U+27E8⟩U+202E⟨U+27E9⟩");
  assertEquals(
    framedText(`x${" ".repeat(9)}y${"\n".repeat(5)}z\r\u200b`),
    "x⟨9 spaces⟩y⟨5 line breaks⟩\nz⟨U+000D⟩⟨U+200B⟩",
  );
  assertEquals(framedText("C:\\new"), "C:\\new");
  fc.assert(fc.property(fc.string({ unit: "binary" }), (any) => {
    const bare = framedText(any).replaceAll(/⟨[^⟩]*⟩/g, "");
    assert(
      !/[⟨⟩]|(?! |\n)[\p{C}\p{Z}]/u.test(
        bare.replaceAll(/\ufe0f|\u200d|\u200c/g, ""),
      ),
    );
  }));
});
