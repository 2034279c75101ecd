/**
 * What docs/dependencies.md says, beside the source: a package that an entry loads at once, or that
 * is new, shows up there, and so in the change that adds it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import workshop from "../deno.json" with { type: "json" };
import {
  dependenciesPage,
  loadedBy,
  PAGE,
} from "../../tools/docs/dependencies.ts";
import { DIRECT } from "../../tools/docs/dependency_facts.ts";
import {
  RUNTIME_NOTES,
  WORKSHOP_NOTES,
} from "../../tools/docs/dependency_notes.ts";
import { importGraphs } from "../../tools/docs/import_graphs.ts";

const sorted = (names: Iterable<string>) => [...names].sort();

Deno.test("docs/dependencies.md is up to date: deno task docs:dependencies", async () => {
  assertEquals(
    await Deno.readTextFile(PAGE),
    await dependenciesPage(),
    "Run `deno task docs:dependencies`",
  );
});

Deno.test("every dependency has a note, and each note is of a dependency", () => {
  const rows = { ...RUNTIME_NOTES, ...WORKSHOP_NOTES };
  assertEquals(sorted(Object.keys(rows)), sorted(DIRECT.keys()));
  // Those of JSR, which links/ replaces by their ports on npm.
  const ported: Record<string, string> = { "@std/assert": "deno-std" };
  for (const name of Object.keys(config.imports)) {
    const here = Object.hasOwn(ported, name) ? WORKSHOP_NOTES : RUNTIME_NOTES;
    assert(Object.hasOwn(here, ported[name] ?? name), name);
  }
  for (const [name, target] of Object.entries(workshop.imports)) {
    if (target.startsWith("../")) continue; // this package itself
    assert(Object.hasOwn(WORKSHOP_NOTES, name), name);
  }
});

Deno.test("every package that published code imports is loaded by an entry, and no package of the workshop is", async () => {
  const graphs = await importGraphs();
  for (const name of Object.keys(RUNTIME_NOTES)) {
    const isTypes = name.startsWith("@types/");
    assertEquals(loadedBy(graphs, name) === "the compiler", isTypes, name);
  }
  for (const name of Object.keys(WORKSHOP_NOTES)) {
    assertEquals(loadedBy(graphs, name), "the compiler", name);
  }
});

Deno.test("what is heavy and rare is loaded when it is used, by every entry", async () => {
  const lazy = [
    ...["@bpinternal/verel", "@clack/prompts", "@modelcontextprotocol/client"],
    ...["@modelcontextprotocol/sdk", "@opentelemetry/api", "aws4fetch", "jose"],
    ...[
      "jsonc-parser",
      "mime",
      "modern-tar",
      "redis",
      "smol-toml",
      "yaml",
      "yauzl",
    ],
  ];
  const commands = ["smcp", "smcp-agent", "smcp-computer", "smcp-server"];
  for (const { name, atOnce } of await importGraphs()) {
    assertEquals(atOnce.filter((one) => lazy.includes(one)), [], name);
    if (commands.includes(name)) {
      assertEquals(atOnce, ["commander"], name);
    }
  }
});
