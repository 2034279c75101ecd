import { assertEquals, assertThrows } from "@std/assert";
import { describePlace, readArguments } from "../../../agent/cli/call.ts";
import { splitPair } from "../../../agent/cli/command.ts";

const schema = {
  type: "object",
  properties: {
    path: { type: "string" },
    count: { type: "integer" },
    ratio: { type: "number" },
    deep: { type: "boolean" },
    filter: { type: "object" },
    tags: { type: "array" },
    maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
    either: { type: ["string", "number"] },
    nothing: { type: ["string", "null"] },
    size: { $ref: "#/$defs/Size" },
    loop: { $ref: "#/$defs/Loop" },
    level: { enum: [1, 2] },
    fixed: { const: true },
  },
  $defs: { Size: { type: "integer" }, Loop: { $ref: "#/$defs/Loop" } },
};

const rows: [string, string, unknown][] = [
  ["path", "notes.txt", "notes.txt"],
  ["path", "42", "42"],
  ["path", "a=b", "a=b"],
  ["path", "", ""],
  ["count", "42", 42],
  ["ratio", "0.5", 0.5],
  ["ratio", "2", 2],
  ["deep", "true", true],
  ["filter", '{"a":[1]}', { a: [1] }],
  ["tags", '["x"]', ["x"]],
  ["maybe", "null", null],
  ["maybe", "3", 3],
  ["either", "3", "3"],
  ["nothing", "null", null],
  ["nothing", "text", "text"],
  ["size", "7", 7],
  ["loop", "any", "any"],
  ["level", "2", 2],
  ["fixed", "true", true],
  ["unknown", "12", "12"],
  ["toString", "12", "12"],
];

for (const [name, text, value] of rows) {
  Deno.test(`readArguments() reads ${name}=${text} by the schema`, () => {
    const { params, problems } = readArguments([[name, text]], schema);
    assertEquals(problems, []);
    assertEquals(params, { [name]: value });
  });
}

const mistakes: [string, string, string][] = [
  ["count", "many", 'argument "count" is "many", expected a whole number'],
  ["count", "1.5", 'argument "count" is "1.5", expected a whole number'],
  ["deep", "yes", 'argument "deep" is "yes", expected true or false'],
  ["tags", "x", 'argument "tags" is "x", expected a JSON list'],
  ["filter", "[]", 'argument "filter" is "[]", expected a JSON object'],
];

for (const [name, text, problem] of mistakes) {
  Deno.test(`readArguments() describes what ${name}=${text} should be`, () => {
    const { params, problems } = readArguments([[name, text]], schema);
    assertEquals(problems, [problem]);
    assertEquals(params, {});
  });
}

Deno.test("readArguments() refuses a duplicate argument", () => {
  const { problems } = readArguments([["path", "a"], ["path", "b"]], schema);
  assertEquals(problems.length, 1);
});

Deno.test("readArguments() treats all values as text for an unlisted tool", () => {
  assertEquals(readArguments([["a", "1"], ["b", "true"]]).params, {
    a: "1",
    b: "true",
  });
});

Deno.test("splitPair() splits at the first '=' and requires a name", () => {
  assertEquals(splitPair("a=b=c"), ["a", "b=c"]);
  assertEquals(splitPair("a="), ["a", ""]);
  assertEquals(splitPair("=b"), undefined);
  assertEquals(splitPair("a"), undefined);
});

Deno.test("describePlace() knows the places in the errors of V8's JSON parser", () => {
  const rows: [json: string, place: string][] = [
    ['{"a": ', ": it ends too early"],
    ['{"a": 1', ": see line 1, column 8"],
    ["", ": it ends too early"],
    ["{path: .}", ": see line 1, column 2"],
    ['{"a": 1,\n "b" 2}', ": see line 2, column 6"],
    ['{"a": 1} {', ": see line 1, column 10"],
  ];
  for (const [json, place] of rows) {
    const error = assertThrows(() => JSON.parse(json), SyntaxError);
    assertEquals(describePlace(json, error), place, `${json}: ${error}`);
  }
  assertEquals(describePlace("", new Error("something else")), "");
});
