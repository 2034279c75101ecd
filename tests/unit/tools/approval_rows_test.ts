import { assert, assertEquals } from "@std/assert";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { THREATS } from "../../support/approvals/threats.ts";
import { allTestNames } from "../../support/test_names.ts";

const PAGE = fileURLToPath(
  new URL("../../../docs/security.md", import.meta.url),
);

Deno.test("every threat to approvals that is stopped has a test that names it, and no test names another", async () => {
  const named = (await allTestNames()).flatMap((name) =>
    [...name.matchAll(/^threat (\d+): /g)].map(([, row]) => Number(row))
  );
  const rows = [...new Set(named)].sort((a, b) => a - b);
  const stopped = THREATS.map((threat, at) => ({ ...threat, row: at + 1 }))
    .filter((threat) => threat.stopped);
  const missing = stopped.filter(({ row }) => !rows.includes(row))
    .map(({ row, name }) => `${row}: ${name}`);
  assertEquals(missing, []);
  assertEquals(rows, stopped.map(({ row }) => row));
});

Deno.test("docs/security.md lists what of the threats to approvals is not stopped", async () => {
  const page = await readFile(PAGE, "utf8");
  const [, section = ""] = /^## Approvals\n([^]*?)^## /m.exec(page) ?? [];
  const [, listed = ""] = section.split("Not guaranteed:");
  const text = listed.replaceAll(/\s+/g, " ");
  const open = THREATS.filter(({ open }) => open !== undefined);
  assert(open.length > 15);
  const missing = open.filter(({ open = "" }) => !text.includes(open))
    .map(({ name }) => name);
  assertEquals(missing, []);
});
