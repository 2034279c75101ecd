import { assert, assertEquals, assertMatch } from "@std/assert";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { limitOptions } from "../../../server/cli/flags.ts";
import { resolveLimits } from "../../../server/limits/limits.ts";
import { HOUSE } from "../../../tools/lint/layering_rules.ts";
import { BUDGET, GUARANTEES } from "../../guarantees.ts";
import { type Requirement, REQUIREMENTS } from "../../requirements.ts";
import { REQUIREMENTS_0_4 } from "../../requirements_0_4.ts";
import { readSettings } from "../../support/server/read_settings.ts";
import { allTestNames, testNamesIn } from "../../support/test_names.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Compares "5.9" with "5.10" the way a person does. */
function compareIds(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

/** Everything that is wrong with a table of clauses, one sentence each. */
function faultsOf(
  table: readonly Requirement[],
  names: Iterable<string>,
): string[] {
  const known = new Set(names);
  const seen = new Set<string>();
  let last = "0";
  return table.flatMap(({ id, clause, tests, planned }) => {
    const faults = tests.filter((name) => !known.has(name))
      .map((name) => `${id}: there is no test named "${name}"`);
    if (seen.has(id)) faults.push(`${id}: the id is given twice`);
    else if (compareIds(last, id) > 0) {
      faults.push(`${id}: stands after ${last}`);
    }
    if (new Set(tests).size < tests.length) {
      faults.push(`${id}: a test is named twice`);
    }
    if (tests.length === 0 && !planned) {
      faults.push(`${id}: neither tested nor planned: ${clause}`);
    }
    seen.add(id);
    last = id;
    return faults;
  });
}

Deno.test("every clause of the specification is proved by a test or planned", async () => {
  assertEquals(faultsOf(REQUIREMENTS, await allTestNames()), []);
});

Deno.test("every clause of 0.3 and 0.4 is proved by a test or planned", async () => {
  assertEquals(faultsOf(REQUIREMENTS_0_4, await allTestNames()), []);
  for (const { id, clause } of REQUIREMENTS_0_4) {
    assertMatch(id, /^\d+(\.\d+){1,2}$/);
    assert(clause.length > 10, id);
  }
});

Deno.test("every section of the specification has its clauses", () => {
  const sections = REQUIREMENTS.map(({ id }) => id.replace(/\.[^.]*$/, ""));
  assertEquals(
    [...new Set(sections)].join(" "),
    "1 2 3 4 5 6 7 8.0 8.1 8.2 8.3 8.4 8.5 9 10 11 12",
  );
  for (const { id, clause } of REQUIREMENTS) assert(clause.length > 10, id);
});

Deno.test("every section that the source names is one of docs/protocol.md", async () => {
  const page = await readFile(join(root, "docs/protocol.md"), "utf8");
  const sections = new Set(
    [...page.matchAll(/^#{2,3} (\d+(?:\.\d+)?)/gm)].map(([, one]) => one),
  );
  const wrong: string[] = [];
  const others = ["bench", "examples", "tests", "tools"];
  for (const file of await filesIn(...HOUSE, ...others)) {
    if (!/\.(ts|js)$/.test(file)) continue;
    const text = await readFile(join(root, file), "utf8");
    for (const [list] of text.matchAll(/protocol( §\d+(\.\d+)*,?)+/g)) {
      for (const [, section = ""] of list.matchAll(/§([\d.]+\d|\d)/g)) {
        if (!sections.has(section)) wrong.push(`${file}: §${section}`);
      }
    }
    // Numbers of other documents, which nobody has.
    if (/(spec|0\.4) §\d/.test(text)) wrong.push(`${file}: another numbering`);
  }
  assertEquals(wrong, []);
});

Deno.test("the gate finds untested clauses, and misnamed, duplicate and misplaced tests", () => {
  const works = ["works"];
  const row = (id: string, tests = works, planned?: "speed"): Requirement => ({
    id,
    clause: "it works",
    tests,
    ...planned && { planned },
  });
  const table: [rows: Requirement[], faults: string[]][] = [
    [[row("5.9"), row("5.10"), row("10.1")], []],
    [[row("1.1", [], "speed")], []],
    [[row("1.1", [])], ["1.1: neither tested nor planned: it works"]],
    [[row("1.1", ["gone"], "speed")], ['1.1: there is no test named "gone"']],
    [[row("1.1", ["works", "works"])], ["1.1: a test is named twice"]],
    [[row("1.1"), row("1.1")], ["1.1: the id is given twice"]],
    [[row("1.2"), row("1.1")], ["1.1: stands after 1.2"]],
  ];
  for (const [rows, faults] of table) {
    assertEquals(faultsOf(rows, works), faults);
  }
});

Deno.test("testNamesIn() finds the names of tests and steps", () => {
  const source = [
    `Deno.test("a \\"quoted\\" name", () => {});`,
    `Deno.test(\n  'on the next line',\n  () => {},\n);`,
    "Deno.test(`plain template`, fn);",
    `Deno.test({ name: "with options", fn });`,
    `await t.step("a step", () => {});`,
    `Deno.test(computed, fn); Deno.test.ignore("left out", fn);`,
  ].join("\n");
  assertEquals(testNamesIn(source), [
    ...['a "quoted" name', "on the next line", "plain template"],
    ...["with options", "a step"],
  ]);
});

// ---------------------------------------------------------------- docs/security.md

const page = await readFile(join(root, "docs/security.md"), "utf8");

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

// ---------------------------------------------------------------- files

/** All files below folders, as paths from the root, without what tools write. */
async function filesIn(...folders: string[]): Promise<string[]> {
  const found = await Promise.all(folders.map(async (folder) => {
    const entries = await readdir(join(root, folder), { recursive: true });
    const paths = entries.map((path) => `${folder}/${path}`)
      .filter((path) => !/\/(\.|node_modules)/.test(path)); // fetched
    const isFile = await Promise.all(
      paths.map(async (path) => (await stat(join(root, path))).isFile()),
    );
    return paths.filter((_, at) => isFile[at]);
  }));
  return found.flat();
}

Deno.test("no folder has more than 20 files, and none has one file alone", async () => {
  const others = ["bench", "docs", "examples", "tests", "tools"];
  const files = await filesIn(...HOUSE, ...others);
  const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/"));
  const folders = Map.groupBy(files, folderOf);
  const isLeaf = (folder: string) =>
    !files.some((path) => folderOf(path).startsWith(`${folder}/`));
  const wrong = [...folders].filter(([folder, { length }]) =>
    length > 20 || length === 1 && isLeaf(folder)
  );
  assertEquals(wrong.map(([folder, files]) => [folder, files.length]), []);
});

Deno.test("no source file has more than 500 lines", async () => {
  const files = (await filesIn(...HOUSE, "bench", "examples", "tools"))
    .filter((path) => /\.(ts|js|css|py)$/.test(path));
  const long: string[] = [];
  for (const path of files) {
    const text = await readFile(join(root, path), "utf8");
    if (text.split("\n").length > 501) long.push(path);
  }
  assertEquals(long, []);
});

/** A number after the name of a port, in code and on command lines; 0 is "any". */
const NUMBERED = [
  /\blisten\(\s*\{[^}]*\bport\b(?!\s*:\s*0\b)/,
  /\blisten(?:On)?\(\s*(?!0\b)[\w.]*[pP]ort\b/,
  /["'`]--(?:metrics-)?port["'`],(?!\s*["'`]0["'`])/,
  /["'`]--(?:metrics-)?port=\$/,
  /\bstartHttpFixture\([^)]*[pP]ort/,
];

const OWN_NETWORK =
  "it runs in a network of its own, in which every port is free";
const REFUSED = "another Server holds it, and it must be refused";

/** Files with an intentional port number, and why no other process can have that port. */
const HELD: Readonly<Record<string, string>> = {
  "e2e/server/command_test.ts": REFUSED,
  "e2e/server/gate_test.ts": REFUSED,
  "e2e/server/hostile/log_reader_test.ts": REFUSED,
  "mcp/authorization_test.ts":
    "the conformance suite takes the port of its callback by number alone",
  "pages/scenes/operators.ts": OWN_NETWORK,
  "pages/support/forward.ts": OWN_NETWORK,
  "support/mcp/bridges.ts":
    "the benchmark alone starts these programs, which report no port that they choose",
  "unit/server/command_test.ts": "nothing is started",
};

/** Lines of a source that start something on a port by its number. */
function numberedPorts(source: string): string[] {
  return NUMBERED.flatMap((pattern) =>
    [...source.matchAll(new RegExp(pattern, "g"))].map(([found]) => found)
  );
}

Deno.test("no test uses a fixed or freed port, which another test may have taken", async () => {
  const found: string[] = [];
  for (const path of await filesIn("tests")) {
    if (!path.endsWith(".ts")) continue;
    const source = await readFile(join(root, path), "utf8");
    if (numberedPorts(source).length > 0) found.push(path.slice(6));
  }
  const known = [...Object.keys(HELD), "unit/tools/requirements_test.ts"]; // the samples below
  assertEquals(
    found.filter((file) => !known.includes(file)),
    [],
    "use port 0, and startProxy() in front of a server that comes again",
  );
});

Deno.test("numberedPorts() finds a port that is given, and lets any port pass", () => {
  for (
    const source of [
      "await second.listen({ port });",
      `await second.listen({\n  hostname: "127.0.0.1",\n  port: first.port,\n});`,
      "http.listen(port, done)",
      "startServerCommand([`--port=${port}`])",
      `["--metrics-port", port]`,
    ]
  ) {
    assertEquals(numberedPorts(source).length, 1, source);
  }
  for (
    const source of [
      "await server.listen();",
      "await server.listen({ port: 0 });",
      `http.listen(0, "127.0.0.1")`,
      `["--port", "0", "--port=0"]`,
    ]
  ) {
    assertEquals(numberedPorts(source), [], source);
  }
});
