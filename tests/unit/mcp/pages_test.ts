import fc from "fast-check";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { cutPage } from "../../../mcp/office/pages.ts";
import { promptTable } from "../../../mcp/office/prompts.ts";
import type { OfficePrompt } from "../../../mcp/resources/reads.ts";
import type { ConfiguredServers } from "../../../mcp/tools/servers.ts";
import type { Weight } from "../../../shared/json/values.ts";

const weightOf = (weight: Weight) => weight;

Deno.test("cutPage() gives every item once and in order, in pages that weigh little but for a single item", () => {
  const weights = fc.array(
    fc.record({ values: fc.nat(60_000), letters: fc.nat(2_000_000) }),
    { maxLength: 20 },
  );
  fc.assert(fc.property(weights, (list) => {
    const seen: Weight[] = [];
    let cursor: string | undefined;
    do {
      const { items, next } = cutPage(list, cursor, weightOf);
      const sum = (of: (weight: Weight) => number) =>
        items.reduce((all, item) => all + of(item), 0);
      assert(
        items.length <= 1 ||
          sum(({ values }) => values) <= 40_000 &&
            sum(({ letters }) => letters) <= 1_500_000,
      );
      assert(items.length > 0 || list.length === 0);
      seen.push(...items);
      cursor = next.nextCursor;
    } while (cursor !== undefined);
    assertEquals(seen, list);
  }));
});

Deno.test("cutPage() gives a usual list whole, and refuses a cursor that it did not give", () => {
  const list = Array.from(
    { length: 800 },
    () => ({ values: 50, letters: 900 }),
  );
  assertEquals(cutPage(list, undefined, weightOf), { items: list, next: {} });
  for (const cursor of ["", "0", "-1", "1.5", "1e9", "x".repeat(100)]) {
    assertThrows(
      () => cutPage(list, cursor, weightOf),
      Error,
      "Invalid cursor",
    );
  }
  // The list has become shorter.
  assertEquals(cutPage(list, "900", weightOf), { items: [], next: {} });
});

Deno.test("promptTable() names prompts of one name in linear time, and those of one MCP server once", async () => {
  const naming = { limit: 48, prefix: true };
  const prompts = (count: number, server: (at: number) => string) =>
    Array.from({ length: count }, (_, at): OfficePrompt => ({
      computer: "pc",
      prompt: { name: "é", mcp_server: server(at) },
    }));
  const same = await promptTable(
    prompts(20_000, () => "s"),
    naming,
    () => undefined,
  );
  assertEquals(same.size, 1);
  const others = await promptTable(
    prompts(2_000, (at) => `s${at}`),
    naming,
    () => undefined,
  );
  assertEquals(others.size, 2_000);
});

Deno.test("promptTable() leads to every prompt and skill, with MCP servers that come in any order", async () => {
  const names = ["foo", "s__foo", "t__foo", "a_b", "x y", "ü__ä"];
  const prompt = (name: string, server: string): OfficePrompt => ({
    computer: "pc",
    prompt: { name, mcp_server: server },
    isWhole: true,
  });
  const skill = (name: string): OfficePrompt => ({
    computer: "pc",
    prompt: { name, mcp_server: "user" },
    skill: { name, source: "user", path: "/", description: "" },
  });
  const all = [
    ...names.flatMap((name) => ["s", "t", "user"].map((s) => prompt(name, s))),
    ...names.map(skill),
  ];
  const single: ConfiguredServers = {
    ids: new Set(["s"]),
    isSingle: true,
    aliases: new Set(),
  };
  for (const prefix of [true, false]) {
    const naming = { limit: 48, prefix };
    const tableOf = async (prompts: readonly OfficePrompt[]) =>
      new Map(
        [...await promptTable(prompts, naming, () => single)]
          .map(([name, { prompt, skill }]) => [name, { prompt, skill }]),
      );
    const whole = await tableOf(all);
    assertEquals(whole.size, all.length);
    assertEquals(whole.get(prefix ? "pc__foo" : "foo")?.skill?.name, "foo");
    const wholeName = prefix ? "pc__s__foo" : "s__foo";
    assertEquals(whole.get(wholeName)?.prompt, prompt("foo", "s").prompt);
    await fc.assert(fc.asyncProperty(fc.subarray(all), async (some) => {
      for (const [name, meaning] of await tableOf(some)) {
        assertEquals(meaning, whole.get(name), name);
      }
    }));
  }
  const short = { ...prompt("foo", "s"), isWhole: false };
  const naming = { limit: 48, prefix: true };
  const table = await promptTable([short], naming, () => single);
  assertEquals([...table.keys()], ["pc__foo", "pc__s__foo"]);
});
