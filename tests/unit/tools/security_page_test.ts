import { assert, assertEquals } from "@std/assert";
import { limitOptions } from "../../../server/cli/flags.ts";
import { readSettings } from "../../support/server/read_settings.ts";
import { resolveLimits } from "../../../server/limits/limits.ts";
import { BUDGET, GUARANTEES } from "../../guarantees.ts";
import { allTestNames } from "../../support/test_names.ts";

const page = await Deno.readTextFile(
  new URL("../../../docs/security.md", import.meta.url),
);

/** The items below "Guaranteed:", each up to the next one. */
const listed = [...page.matchAll(/^Guaranteed:\n\n([^]*?)(?=\n\n\S)/gm)]
  .flatMap(([, items = ""]) => items.split(/^- /m).slice(1))
  .map((item) => item.replaceAll(/\s+/g, " ").trim());

/** The rows of the budget of a connection: the resource, its default, its flag. */
const [, budget = ""] = page.split(/^## The budget of a connection\n/m);
const rows = [
  ...budget.split(/^## /m, 1)[0]?.matchAll(/^```text\n([^]*?)^```/gm) ?? [],
]
  .flatMap(([, body = ""]) => body.trimEnd().split("\n"))
  .map((row) => row.split(/ {2,}/));

Deno.test("each guarantee of docs/security.md has its tests in tests/guarantees.ts, and each of them exists", async () => {
  assert(listed.length > 40 && rows.length > 25);
  assertEquals(listed, Object.keys(GUARANTEES));
  assertEquals(rows.map(([resource]) => resource), Object.keys(BUDGET));
  const known = new Set(await allTestNames());
  const proofs = [...Object.entries(GUARANTEES), ...Object.entries(BUDGET)];
  const faults = proofs.flatMap(([text, tests]) =>
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
    assertEquals(value, defaults.get(flag), flag);
  }
});
