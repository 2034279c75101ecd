import fc from "fast-check";

/** Parts of texts with which somebody may try to pass for the program, or to hide something. */
const PARTS: readonly string[] = [
  "Tool: ",
  "MCP server: ",
  "Asked by: ",
  "Arguments",
  "Yes, this once (y)",
  "│ ",
  "┊ ",
  "└ ",
  "… 12 characters in all …",
  "(1 name)",
  "[0]: ",
  "path: ",
  '"',
  '": "',
  "\\",
  "\n",
  "\r\n",
  "\n\n\n\n\n",
  "\t",
  " ".repeat(9),
  "⟨",
  "⟩",
  "⟨U+202E⟩",
  "\u202e",
  "\u2066",
  "\u200b",
  "\u200d",
  "\ufe0f",
  "\u0301",
  "\u0301\u0302\u0303\u0304",
  "\u3164",
  "\u2800",
  "\u00a0",
  "\u001b[2J",
  "\u001b]0;x\u0007",
  "\ud800",
  "\ue000",
  "p\u0430y",
  "漢字",
  "👩‍⚕️",
  "שלום",
  "ज़िंदगी",
  "word ",
];

/** Makes texts of hostile parts, and of any characters. */
export const hostileText = (maxLength = 12): fc.Arbitrary<string> =>
  fc.array(
    fc.oneof(
      fc.constantFrom(...PARTS),
      fc.string({ unit: "binary", maxLength: 8 }),
      fc.string({ maxLength: 30 }),
    ),
    { maxLength },
  ).map((parts) => parts.join(""));
