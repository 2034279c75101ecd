import { assert, assertEquals } from "@std/assert";
import { limitOptions } from "../../../server/cli/flags.ts";
import { readSettings } from "../../support/server/read_settings.ts";
import { resolveLimits } from "../../../server/limits/limits.ts";
import { allTestNames } from "../../support/test_names.ts";

const page = await Deno.readTextFile(
  new URL("../../../docs/security.md", import.meta.url),
);

/** A guarantee of the page, and the tests that it names. */
interface Guarantee {
  readonly text: string;
  readonly tests: readonly string[];
}

const codeIn = (text: string): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) =>
    code.replaceAll(/\s+/g, " ")
  );

/** The items below "Guaranteed:", each up to the next one. */
const listed: Guarantee[] = [
  ...page.matchAll(/^Guaranteed:\n\n([^]*?)(?=\n\n\S)/gm),
]
  .flatMap(([, items = ""]) => items.split(/^- /m).slice(1))
  .map((item) => {
    const [text = "", ...tests] = item.split(/^ +- Test:/m);
    return { text, tests: tests.flatMap(codeIn) };
  });

/** The rows of tables whose last column is that of tests. */
const rows = [
  ...page.matchAll(/^\|[^\n]*\| *test *\|\n\|[ -|]*\n((?:\|.*\n)+)/gm),
].flatMap(([, body = ""]) => body.trimEnd().split("\n"))
  .map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim()));

const budget: Guarantee[] = rows.map(([text = "", , , tests = ""]) => ({
  text,
  tests: codeIn(tests),
}));

Deno.test("docs/security.md names a test for each guarantee, and each of them exists", async () => {
  assert(listed.length > 25 && budget.length > 15);
  const known = new Set(await allTestNames());
  const faults = [...listed, ...budget].flatMap(({ text, tests }) =>
    tests.length === 0
      ? [`no test: ${text}`]
      : tests.filter((name) => !known.has(name))
        .map((name) => `there is no test named "${name}"`)
  );
  assertEquals(faults, []);
});

Deno.test("docs/security.md states the defaults of the flags of a connection's budget", async () => {
  const defaults = new Map<string, unknown>(
    limitOptions().map(({ long, defaultValue }) => [long ?? "", defaultValue]),
  );
  const { maxMessageBytes } = await readSettings([]);
  defaults.set("--max-message-bytes", maxMessageBytes);
  const { socketsPerAddress } = resolveLimits();
  defaults.set("--max-sockets-per-address", socketsPerAddress);
  const units = { KiB: 2 ** 10, MiB: 2 ** 20 };
  for (const [, told = "", flag = ""] of rows) {
    if (flag === "") continue;
    const [, number, unit] = /^([\d,]+)(?: (KiB|MiB))?/.exec(told) ?? [];
    const value = Number(number?.replaceAll(",", "")) *
      (unit === "KiB" || unit === "MiB" ? units[unit] : 1);
    assertEquals(value, defaults.get(flag.replaceAll("`", "")), flag);
  }
});
