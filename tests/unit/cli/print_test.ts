import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { plainJson, plainStyled } from "../../../cli/print.ts";
import { plain, plainLines } from "../../../cli/terminal_text.ts";
import { prettyLine } from "../../../server/cli/logging.ts";
import { plainText } from "../../../shared/shown_text.ts";

// deno-lint-ignore no-control-regex -- control characters are what this matches
const CONTROL = /(?![\n\t])[\u0000-\u001f\u007f-\u009f]/;

/** Texts with many characters that terminals obey. */
const hostile = fc.array(
  fc.oneof(
    fc.constantFrom(
      ...[
        "\u001b[2J",
        "\u001b]0;x\u0007",
        "\u009b31m",
        "\r",
        "\n",
        "\t",
        "\u0085",
      ],
      ...[
        "\u202e",
        "\u2028",
        "\u200b",
        "\u007f",
        "\ud800",
        "😀",
        "a",
        '"',
        "\\",
      ],
    ),
    fc.string({ unit: "binary", maxLength: 4 }),
  ),
  { maxLength: 12 },
).map((parts) => parts.join(""));

Deno.test("plainLines() shows texts of ASCII as the table of characters does", () => {
  const unit = fc.constantFrom(...'ab "\\#*0-~\n\t\r\u007f');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
      const lines = text.replaceAll("\r\n", "\n");
      assertEquals(plainLines(text), plainText(lines, "\n\t"));
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("what is printed has no control characters but line breaks and tabs, whatever others wrote", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      assert(!CONTROL.test(plainLines(text)));
      assert(!/[\n\t]/.test(plain(text)) && !CONTROL.test(plain(text)));
      assert(!CONTROL.test(plainJson(JSON.stringify([text], null, 2))));
      assertEquals(plainLines(plainLines(text)), plainLines(text));
    }),
    { seed: 20261129 },
  );
});

Deno.test("plainJson() leaves the value as it is", () => {
  fc.assert(
    fc.property(fc.jsonValue(), hostile, (value, text) => {
      const all = { value, [text]: text };
      assertEquals(
        JSON.parse(plainJson(JSON.stringify(all, null, 2))),
        JSON.parse(JSON.stringify(all)),
      );
    }),
    { seed: 20261129 },
  );
});

Deno.test("plainStyled() keeps styles, and escapes all else", () => {
  const styled = "\u001b[1mbold\u001b[0m \u001b[32mgood\u001b[0m\nnext";
  assertEquals(plainStyled(styled), styled);
  assertEquals(
    plainStyled("\u001b[1ma\u001b[2Jb\u001b[0m\u001b]0;c\u0007\u009b0m"),
    "\u001b[1ma⟨U+001B⟩[2Jb\u001b[0m⟨U+001B⟩]0;c⟨U+0007⟩⟨U+009B⟩0m",
  );
  fc.assert(
    fc.property(hostile, (text) => {
      // deno-lint-ignore no-control-regex -- escape sequences are what this matches
      const rest = plainStyled(text).replaceAll(/\u001b\[\d{1,2}m/g, "");
      assert(!CONTROL.test(rest));
    }),
    { seed: 20261129 },
  );
});

Deno.test("a pretty line of the log is one line without control characters, whatever its fields hold", () => {
  fc.assert(
    fc.property(hostile, hostile, (message, name) => {
      const line = prettyLine({
        category: ["a2c-smcp", "audit"],
        level: "warning",
        message: [message],
        rawMessage: message,
        timestamp: 0,
        properties: { name, [name]: { deep: name } },
      });
      assert(line.endsWith("\n"));
      assert(!/[\n\t]/.test(line.slice(0, -1)) && !CONTROL.test(line), line);
    }),
    { seed: 20261129 },
  );
});
