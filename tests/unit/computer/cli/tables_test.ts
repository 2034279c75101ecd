import { assertEquals } from "@std/assert";
import { drawTable } from "../../../../computer/cli/shell/tables.ts";

const HEAD = ["Name", "What"];
const ROWS = [
  ["a", "words of 漢字 and 🎉"],
  ["two\nlines", ["fine", "good"]],
] as const;

Deno.test("drawTable() frames cells of several lines, and counts wide characters twice", () => {
  assertEquals(
    drawTable(HEAD, ROWS, { columns: 80, colour: false }).coloured.split("\n"),
    [
      "┌───────┬──────────────────────┐",
      "│ Name  │ What                 │",
      "├───────┼──────────────────────┤",
      "│ a     │ words of 漢字 and 🎉 │",
      "│ two   │ fine                 │",
      "│ lines │                      │",
      "└───────┴──────────────────────┘",
    ],
  );
});

Deno.test("drawTable() wraps its widest columns, and a style does not widen one", () => {
  assertEquals(
    drawTable(HEAD, ROWS, { columns: 25, colour: true }).coloured.split("\n"),
    [
      "┌───────┬───────────────┐",
      "│ \x1b[1mName\x1b[0m  │ \x1b[1mWhat\x1b[0m          │",
      "├───────┼───────────────┤",
      "│ a     │ words of 漢字 │",
      "│       │   and 🎉      │",
      "│ two   │ \x1b[32mfine\x1b[0m          │",
      "│ lines │               │",
      "└───────┴───────────────┘",
    ],
  );
  assertEquals(
    drawTable(HEAD, [], { columns: 80, colour: false }).coloured.split("\n"),
    ["┌──────┬──────┐", "│ Name │ What │", "└──────┴──────┘"],
  );
});
