import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { InputStore } from "../../../../computer/config/inputs/input_store.ts";
import { InvalidSelectionError } from "../../../../computer/config/inputs/invalid_selection.ts";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import { ConfigError } from "../../../../computer/config/problem.ts";
import type { MCPServerInput } from "../../../../protocol/mod.ts";

const labelled = (over: Record<string, unknown> = {}): MCPServerInput => ({
  type: "pickString",
  id: "region",
  description: "where",
  options: [{ label: "Europe", value: "eu" }, "us"],
  ...over,
});

Deno.test("0.4 §9: a pickString takes values of options in both forms, and no label", async () => {
  const of = (value: unknown) =>
    new InputStore([labelled()], { values: { region: value } }).value("region");
  assertEquals([await of("eu"), await of("us")], ["eu", "us"]);
  const error = await assertRejects(() => of("Europe"), InvalidSelectionError);
  assertEquals([error.id, error.value], ["region", "Europe"]);
});

Deno.test("0.4 §9: a pickString that nobody answers is its default, then its first option, and not kept", async () => {
  const first = new InputStore([labelled()]);
  assertEquals(await first.value("region"), "eu");
  const second = new InputStore([labelled({ default: "us" })]);
  assertEquals(await second.value("region"), "us");
  for (const store of [first, second]) {
    assertEquals(await store.values(), [{ id: "region", known: false }]);
  }
  let asked = 0;
  const third = new InputStore([labelled()], {
    ask: () => Promise.resolve(void asked++),
  });
  assertEquals(await third.value("region"), "eu");
  assertEquals(await third.value("region"), "eu");
  assertEquals(asked, 1);
});

Deno.test("0.4 §9: a pickString without options, or with another default, is a problem of the configuration", () => {
  const rows: [over: Record<string, unknown>, text: string][] = [
    [{ options: [] }, "inputs.0.options: it is empty; list at least one"],
    [
      { default: "Europe" },
      'inputs.0.default: it is not one of its options; use "eu" or "us"',
    ],
    [
      { options: [3] },
      'inputs.0.options.0: expected a text, or {"label": ..., "value": ...}',
    ],
    [
      { options: [{ label: "", value: "eu" }] },
      "inputs.0.options.0.label: it is empty",
    ],
  ];
  for (const [over, text] of rows) {
    assertThrows(
      () => parseComputerConfig({ servers: {}, inputs: [labelled(over)] }),
      ConfigError,
      text,
    );
  }
});
