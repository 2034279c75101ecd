import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  InputStore,
  InvalidSelectionError,
} from "../../../../computer/config/input_store.ts";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import { ConfigError } from "../../../../computer/config/problem.ts";
import {
  inputVariables,
  sharedVariable,
} from "../../../../computer/util/inputs.ts";
import type { MCPServerInput } from "../../../../protocol/mod.ts";
import vectors from "../../../vectors/input_variables.json" with {
  type: "json",
};

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

const prompt = (id: string) => ({
  type: "promptString" as const,
  id,
  description: "",
});

Deno.test("0.4 §14: sharedVariable() gives the names of all vectors", () => {
  assertEquals(vectors.vectors.length, 16);
  for (const row of vectors.vectors) {
    const owners = [row.bundle_id, row.tool_name].filter((one) => one !== null);
    assertEquals(
      sharedVariable(row.input_id, ...owners),
      row.expected_env_var_name,
    );
  }
});

Deno.test("0.4 §14: an input has the variable of other SDKs as its last name", async () => {
  assertEquals(inputVariables("a-b").at(-1), "A2C_SMCP_a_b");
  const of = (environment: Record<string, string>) =>
    new InputStore([prompt("api-key")], { environment }).value("api-key");
  const theirs = { A2C_SMCP_api_key: "theirs" };
  assertEquals(await of(theirs), "theirs");
  assertEquals(await of({ ...theirs, SMCP_INPUT_API_KEY: "ours" }), "ours");
});

Deno.test("0.4 §14: two inputs with one variable are an error that names both", () => {
  const text =
    'inputs.1.id: "a_b" and "a-b" have the same environment variable, A2C_SMCP_a_b; rename one of them';
  assertThrows(
    () =>
      parseComputerConfig({
        servers: {},
        inputs: [prompt("a-b"), prompt("a_b"), prompt("A-B")],
      }),
    Error,
    text,
  );
  // These have no such variable.
  parseComputerConfig({
    servers: {},
    inputs: [prompt("env:A-B"), prompt("env:A_B"), prompt("env_A_B")],
  });
  const store = new InputStore([prompt("a-b")]);
  assertThrows(() => store.put(prompt("a_b")), Error, "rename one of them");
  store.put({ ...prompt("a-b"), description: "again" });
  assertEquals(store.definitions.length, 1);
});
