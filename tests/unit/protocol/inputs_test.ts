import { assert, assertEquals, assertThrows } from "@std/assert";
import { ProtocolError } from "../../../protocol/errors.ts";
import { parseMCPServerInputs } from "../../../protocol/payloads/config_file.ts";

const prompt = { type: "promptString", id: "key", description: "the key" };
const pick = {
  type: "pickString",
  id: "region",
  description: "where",
  options: ["eu", "us"],
};
const command = {
  type: "command",
  id: "branch",
  description: "of the work tree",
  command: "git",
};

Deno.test("parseMCPServerInputs() takes the three types as they are written", () => {
  const inputs = [
    prompt,
    { ...prompt, id: "key2", default: "x", password: true, later: [1] },
    { ...prompt, id: "key3", default: null, password: null },
    pick,
    { ...pick, id: "region2", default: "eu", options: [] },
    command,
    { ...command, id: "branch2", args: ["rev-parse", "HEAD"] },
    { ...command, id: "branch3", args: { depth: "1" } },
    { ...command, id: "branch4", args: null },
  ];
  assertEquals<unknown>(parseMCPServerInputs(inputs), inputs);
  assertEquals(parseMCPServerInputs([]), []);
});

Deno.test("parseMCPServerInputs() refuses an id that is defined twice, across types", () => {
  const inputs = [prompt, pick, { ...command, id: "key" }, {
    ...pick,
    id: "key",
  }];
  const error = assertThrows(
    () => parseMCPServerInputs(inputs),
    ProtocolError,
    '"key" is defined twice',
  );
  assertEquals(error.code, 400);
  assertEquals(error.details, { fields: ["2.id", "3.id"] });
});

Deno.test("parseMCPServerInputs() tells ids apart that only look like Object's own", () => {
  const ids = ["constructor", "__proto__", "toString", "Key", "key"];
  const inputs = ids.map((id) => ({ ...prompt, id }));
  assertEquals(parseMCPServerInputs(inputs).map(({ id }) => id), ids);
});

Deno.test("parseMCPServerInputs() names what is wrong", () => {
  const faults: [input: unknown, path: string][] = [
    [{ ...prompt, type: "password" }, "0.type"],
    [{ ...prompt, id: "" }, "0.id"],
    [{ ...prompt, id: 1 }, "0.id"],
    [{ ...prompt, description: undefined }, "0.description"],
    [{ ...prompt, default: 1 }, "0.default"],
    [{ ...prompt, password: "yes" }, "0.password"],
    [{ ...pick, options: undefined }, "0.options"],
    [{ ...pick, options: [1] }, "0.options.0"],
    [{ ...pick, options: "eu" }, "0.options"],
    [{ ...command, command: "" }, "0.command"],
    [{ ...command, command: undefined }, "0.command"],
    [{ ...command, args: "HEAD" }, "0.args"],
    ["key", "0"],
  ];
  for (const [input, path] of faults) {
    const error = assertThrows(
      () => parseMCPServerInputs([input]),
      ProtocolError,
      "",
      JSON.stringify(input),
    );
    assertEquals(error.details, { fields: [path] }, JSON.stringify(input));
    assert(error.message.includes(`${path}: `), error.message);
  }
  assertThrows(() => parseMCPServerInputs({ key: prompt }), ProtocolError);
});
