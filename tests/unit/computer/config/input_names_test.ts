import { assertEquals, assertThrows } from "@std/assert";
import { InputStore } from "../../../../computer/config/inputs/input_store.ts";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import {
  inputVariables,
  sharedVariable,
} from "../../../../computer/util/inputs.ts";
import vectors from "../../../vectors/input_variables.json" with {
  type: "json",
};

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
