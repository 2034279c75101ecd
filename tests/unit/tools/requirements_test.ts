import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  type Milestone,
  type Requirement,
  REQUIREMENTS,
} from "../../requirements.ts";
import { REQUIREMENTS_0_4 } from "../../requirements_0_4.ts";
import { allTestNames, testNamesIn } from "../../support/test_names.ts";

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

/** Summarizes in one line how much is proved. */
function summary(table: readonly Requirement[]): string {
  const count = (is: (row: Requirement) => boolean): number =>
    table.filter(is).length;
  const milestones: Milestone[] = [
    "call",
    "computer",
    "server",
    "commands",
    "speed",
  ];
  const proved = count(({ planned }) => !planned);
  const partly = count(({ planned, tests }) => !!planned && tests.length > 0);
  const planned = milestones
    .map((name) => [name, count((row) => row.planned === name)] as const)
    .filter(([, rows]) => rows > 0)
    .map(([name, rows]) => `${name} ${rows}`);
  return `${table.length} clauses: ${proved} proved, ${partly} in part; planned: ${
    planned.join(", ") || "none"
  }`;
}

Deno.test("every clause of the specification is proved by a test or planned", async () => {
  const faults = faultsOf(REQUIREMENTS, await allTestNames());
  console.log(summary(REQUIREMENTS));
  assertEquals(faults, []);
});

Deno.test("every clause of 0.3 and 0.4 is proved by a test or planned", async () => {
  const faults = faultsOf(REQUIREMENTS_0_4, await allTestNames());
  console.log(summary(REQUIREMENTS_0_4));
  assertEquals(faults, []);
  for (const { id, clause } of REQUIREMENTS_0_4) {
    assertMatch(id, /^0\.4 §\d+(\.\d+){1,2}$/);
    assert(clause.length > 10, id);
  }
});

Deno.test("every section of the specification has its clauses", () => {
  const sections = new Set(
    REQUIREMENTS.map(({ id }) => id.slice(0, id.lastIndexOf("."))),
  );
  assertEquals(
    [...sections],
    "1 2 3 4 5 6 7 8.0 8.1 8.2 8.3 8.4 8.5 9 10 11 12".split(" "),
  );
  for (const { id, clause } of REQUIREMENTS) assert(clause.length > 10, id);
});

Deno.test("the gate finds untested clauses, and misnamed, duplicate and misplaced tests", () => {
  const row = (id: string, over: Partial<Requirement> = {}): Requirement => ({
    id,
    clause: "it works",
    tests: ["works"],
    ...over,
  });
  const faults = (...table: Requirement[]) => faultsOf(table, ["works"]);
  assertEquals(faults(row("5.9"), row("5.10"), row("10.1")), []);
  assertEquals(faults(row("1.1", { tests: [], planned: "speed" })), []);
  assertEquals(faults(row("1.1", { tests: [] })), [
    "1.1: neither tested nor planned: it works",
  ]);
  assertEquals(faults(row("1.1", { tests: ["gone"], planned: "call" })), [
    '1.1: there is no test named "gone"',
  ]);
  assertEquals(faults(row("1.1", { tests: ["works", "works"] })), [
    "1.1: a test is named twice",
  ]);
  assertEquals(faults(row("1.1"), row("1.1")), ["1.1: the id is given twice"]);
  assertEquals(faults(row("1.2"), row("1.1")), ["1.1: stands after 1.2"]);
  assertEquals(faults(row("0.4 §7.5.1"), row("0.4 §10.1")), []);
  assertEquals(faults(row("0.4 §10.1"), row("0.4 §7.5.1")), [
    "0.4 §7.5.1: stands after 0.4 §10.1",
  ]);
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
    'a "quoted" name',
    "on the next line",
    "plain template",
    "with options",
    "a step",
  ]);
});
