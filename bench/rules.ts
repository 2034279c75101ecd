/**
 * Measures what rules add to a call that none of them asks about, or that the last one allows.
 *
 * ```sh
 * deno run -A --config tests/deno.json bench/rules.ts
 * ```
 *
 * @module
 */
import process from "node:process";
import { firstMatch, type Rule } from "../computer/rules/rules.ts";
import { quartilesText } from "./statistics.ts";

const ROUNDS = 21;
const CALLS = 20_000;

const many = (rule: (i: number) => Rule): Rule[] =>
  Array.from({ length: 20 }, (_, i) => rule(i));

const ALLOW: Rule = {
  then: "allow",
  when: { path: { under: "/srv/notes" } },
};

const LISTS: Readonly<Record<string, readonly Rule[]>> = {
  "20 names of tools": many((i) => ({ then: "ask", tool: `*_file_${i}` })),
  "20 Agents": many((i) => ({
    then: "ask",
    server: "f*s",
    agent: `plan*${i}`,
  })),
  "20 folders": many((i) => ({
    then: "deny",
    when: { path: { under: `/srv/notes/${i}` } },
  })),
  "20 hosts": many((i) => ({
    then: "deny",
    when: { url: { host: `*.${i}.com` } },
  })),
  "19 names of tools, and a folder that is allowed": [
    ...many((i) => ({ then: "ask", tool: `write_${i}*` } as const)).slice(1),
    ALLOW,
  ],
};

const CALL = {
  agent: "planner",
  servers: ["files"],
  tools: ["write_file", "files__write_file", "write"],
};

/** Returns the µs of processor time that the rules take of a call. */
function measure(rules: readonly Rule[]): number {
  const expected = rules.at(-1) === ALLOW ? rules.length - 1 : -1;
  const before = process.cpuUsage();
  for (let i = 0; i < CALLS; i++) {
    const path = `/srv/notes/a/b/${i}.md`;
    const url = `https://a.example.com/${i}`;
    const params = expected < 0 ? { path, url } : { path };
    if (firstMatch(rules, { ...CALL, params }) !== expected) {
      throw new Error("another rule matches");
    }
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

for (const [name, rules] of Object.entries(LISTS)) {
  measure(rules);
  const costs = Array.from({ length: ROUNDS }, () => measure(rules));
  console.log(`${name}: ${quartilesText(costs)} (µs of CPU a call)`);
}
