import { assertEquals } from "@std/assert";
import {
  columns,
  pad,
  plain,
  plainLines,
  progressText,
  shorten,
  textWidth,
  wrap,
} from "../../../cli/terminal_text.ts";

Deno.test("textWidth() counts the columns that a terminal takes", () => {
  const rows: [text: string, width: number][] = [
    ["", 0],
    ["plain", 5],
    ["naïve", 5],
    ["nai\u0308ve", 5],
    ["日本語", 6],
    ["サーバー", 8],
    ["한국어", 6],
    ["ｆｕｌｌ", 8],
    ["（）、。", 8],
    ["😀", 2],
    ["🇩🇪", 2],
    ["✓ ● ▸ …", 7],
  ];
  for (const [text, width] of rows) assertEquals(textWidth(text), width, text);
});

Deno.test("shorten() and pad() count in columns, not characters", () => {
  assertEquals(shorten("日本語", 6), "日本語");
  assertEquals(shorten("日本語", 5), "日本…");
  assertEquals(shorten("日本語", 4), "日…");
  assertEquals(shorten("abc", 0), "");
  assertEquals(pad("日本", 6), "日本  ");
  assertEquals(columns([["日本", "x"], ["abc", "y"]]), ["日本  x", "abc   y"]);
});

Deno.test("wrap() breaks lines between words, and longer words but for URLs, and indents the rest", () => {
  const url = "http://127.0.0.1/authorize";
  const rows: [text: string, columns: number, wrapped: string][] = [
    [
      "one two three\n  four five six",
      9,
      "one two\n  three\n  four\n    five\n    six",
    ],
    ["short", 9, "short"],
    ["x 日本語日本語", 7, "x 日本\n  語日\n  本語"],
    [`see ${url} now`, 10, `see\n  ${url}\n  now`],
  ];
  for (const [text, columns, wrapped] of rows) {
    assertEquals(wrap(text, columns), wrapped);
  }
  assertEquals(wrap("a://b/cdef", 5, () => false), "a://b\n  /cd\n  ef");
});

Deno.test("plain() and plainLines() leave nothing that acts on a terminal", () => {
  assertEquals(plain("a\u001b[2J\n\u202e"), "a\\u{1b}[2J\\u{a}\\u{202e}");
  assertEquals(plainLines("a\r\nb\tc\u009b"), "a\nb\tc\\u{9b}");
});

Deno.test("progressText() says how far a call is in a few characters", () => {
  const rows: [progress: Parameters<typeof progressText>[0], text: string][] = [
    [{ progress: 3 }, "3"],
    [{ progress: 1 / 3, total: 1 }, "0.33/1"],
    [{ progress: 3, total: 5, message: "" }, "3/5"],
    [{ progress: 3, total: 5, message: "reading" }, "3/5 reading"],
  ];
  for (const [progress, text] of rows) {
    assertEquals(progressText(progress), text);
  }
});
