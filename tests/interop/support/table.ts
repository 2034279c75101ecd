import { assertEquals } from "@std/assert";
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import type { Cast } from "./casts.ts";
import { COLUMNS, type Marks } from "./scenario.ts";

const README = new URL("../README.md", import.meta.url);

/** Tells the run to write the table instead of comparing it. */
const WRITE = "SMCP_INTEROP_WRITE";

/**
 * Compares what came of a cast with its row in a table of `README.md`, which is between comments of
 * its name; writes the row if the run is told to.
 */
export async function compareRow(
  table: string,
  cast: Cast,
  marks: Marks,
): Promise<void> {
  const { before, rows, after } = await readTable(table);
  const row = [...partiesOf(cast), ...COLUMNS.map((c) => cellOf(marks[c]))];
  if (process.env[WRITE] === undefined) {
    assertEquals(
      rows.get(keyOf(row)),
      row,
      "The table in tests/interop/README.md is not what the run showed: deno task docs:interop writes it",
    );
    return;
  }
  rows.set(keyOf(row), row);
  const head = ["Agent", "Server", "Computer", ...COLUMNS];
  const lines = [
    head,
    head.map(() => "---"),
    ...[...rows.values()].sort((a, b) => compare(keyOf(a), keyOf(b))),
  ].map((cells) => `| ${cells.join(" | ")} |`);
  await writeFile(README, `${before}\n\n${lines.join("\n")}\n\n${after}`);
}

/** Compares the parties of all rows in a table of `README.md` with casts. */
export async function compareParties(
  table: string,
  casts: readonly Cast[],
): Promise<void> {
  const { rows } = await readTable(table);
  const wanted = casts.map((cast) => keyOf(partiesOf(cast)));
  assertEquals([...rows.keys()].sort(compare), wanted.sort(compare));
}

/** Reads the rows of a table by their parties, and the text around it. */
async function readTable(table: string) {
  const text = await readFile(README, "utf8");
  const mark = `<!-- ${table} -->`;
  const begin = text.indexOf(mark) + mark.length;
  const end = text.indexOf(`<!-- /${table} -->`);
  const lines = text.slice(begin, end).split("\n");
  const cells = lines.filter((line) => line.startsWith("|")).slice(2)
    .map(cellsOf);
  return {
    before: text.slice(0, begin),
    rows: new Map(cells.map((row) => [keyOf(row), row])),
    after: text.slice(end),
  };
}

const cellsOf = (line: string): string[] =>
  line.split("|").slice(1, -1).map((cell) => cell.trim());

const keyOf = (cells: readonly string[]): string => cells.slice(0, 3).join();

function partiesOf(
  { sdk, agent, server, computer, computerSdk = sdk }: Cast,
): string[] {
  const serverSdk = computerSdk === sdk ? sdk : "all";
  return [
    `${sdk} ${SHORT[agent]}`,
    `${serverSdk} ${SHORT[server]}`,
    `${computerSdk} ${SHORT[computer]}`,
  ];
}

const SHORT = { our: "ours", Python: "py", Rust: "rust" };

/** By version, then in the order of the alphabet. */
const compare = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0;

/** `✓` where all passed, with the numbers of known failures if some did; `✗` with numbers where none did. */
function cellOf(marks: Marks[keyof Marks]): string {
  if (marks.length === 0) return "–";
  if (marks.includes("failed")) return "failed";
  const known = [...new Set(marks.filter((mark) => typeof mark === "number"))];
  const sign = marks.includes("passed") || known.length === 0 ? "✓" : "✗";
  return [sign, ...known.map(raised)].join(" ");
}

const raised = (number: number): string =>
  String(number).replaceAll(
    /\d/g,
    (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] ?? "",
  );
