import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ConfigError } from "../../../../computer/config/problem.ts";
import { commandLine } from "../../../../computer/config/command_input.ts";
import {
  fillPlaceholders,
  prepareConfig,
} from "../../../../computer/config/fill_inputs.ts";
import { hideValues, secretsIn } from "../../../../computer/util/secrets.ts";
import {
  inputVariables,
  parseInputFlag,
} from "../../../../computer/util/inputs.ts";
import {
  type InputSources,
  InputStore,
} from "../../../../computer/config/input_store.ts";
import { TextTail } from "../../../../computer/util/processes.ts";
import {
  type MCPServerInput,
  parseMCPServerConfig,
} from "../../../../protocol/mod.ts";

const prompt = (
  id: string,
  more: { default?: string; password?: boolean } = {},
): MCPServerInput => ({ type: "promptString", id, description: id, ...more });

Deno.test("fillPlaceholders() fills every string, and keeps the type of a sole placeholder's value", () => {
  const values = new Map<string, unknown>([
    ["text", "abc"],
    ["number", 5],
    ["flag", false],
    ["nothing", null],
    ["list", [1, 2]],
    ["empty", ""],
    ["tricky", "$& ${input:text}"],
  ]);
  const rows: [value: unknown, filled: unknown][] = [
    ["plain", "plain"],
    ["${input:text}", "abc"],
    ["<${input:text}|${input:text}>", "<abc|abc>"],
    ["${input:number}", 5],
    ["n=${input:number}", "n=5"],
    ["${input:flag}", false],
    ["${input:nothing}", null],
    ["${input:list}", [1, 2]],
    [" ${input:list}", " [1,2]"],
    ["${input:empty}", ""],
    ["${input:tricky}", "$& ${input:text}"],
    ["${input:text}${input:number}", "abc5"],
    ["${env:HOME} ${input}", "${env:HOME} ${input}"],
    [7, 7],
    [null, null],
    [{ a: ["${input:text}", { b: "${input:number}" }] }, {
      a: ["abc", { b: 5 }],
    }],
    [{ "${input:text}": 1 }, { "${input:text}": 1 }],
  ];
  for (const [value, filled] of rows) {
    assertEquals(fillPlaceholders(value, values), filled);
  }
});

Deno.test("fillPlaceholders() names an id without a value", () => {
  assertThrows(
    () => fillPlaceholders(["${input:a}", "${input:b}"], new Map([["a", 1]])),
    Error,
    "${input:b}",
  );
});

Deno.test("fillPlaceholders() fills ten levels, and refuses deeper nesting", () => {
  const nested = (levels: number): unknown =>
    levels === 0 ? "${input:a}" : [nested(levels - 1)];
  const values = new Map([["a", 1]]);
  assertEquals(
    JSON.stringify(fillPlaceholders(nested(10), values)),
    "[[[[[[[[[[1]]]]]]]]]]",
  );
  assertThrows(() => fillPlaceholders(nested(11), values), Error, "10 levels");
});

Deno.test("inputVariables() lists the environment variables of an input", () => {
  assertEquals(inputVariables("TOKEN"), [
    "SMCP_INPUT_TOKEN",
    "A2C_SMCP_TOKEN",
  ]);
  assertEquals(inputVariables("github-token"), [
    "SMCP_INPUT_github-token",
    "SMCP_INPUT_GITHUB_TOKEN",
    "A2C_SMCP_github_token",
  ]);
  assertEquals(inputVariables("a b.ü"), [
    "SMCP_INPUT_a b.ü",
    "SMCP_INPUT_A_B__",
    "A2C_SMCP_a_b__",
  ]);
  assertEquals(inputVariables("env:HOME")[0], "HOME");
});

Deno.test("parseInputFlag() splits at the first '=', and never shows a value", () => {
  assertEquals(parseInputFlag("a=b=c"), ["a", "b=c"]);
  assertEquals(parseInputFlag("a="), ["a", ""]);
  for (const text of ["hunter2", "=hunter2"]) {
    const error = assertThrows(
      () => parseInputFlag(text),
      TypeError,
      "ID=VALUE",
    );
    assert(!error.message.includes("hunter2"));
  }
});

Deno.test("commandLine() is a shell command without args, a program with a list, options with a map", () => {
  const program = (...args: string[]) => ({
    kind: "program",
    program: "op",
    args,
  });
  const rows: [
    args: string[] | Record<string, string> | null | undefined,
    unknown,
  ][] = [
    [undefined, { kind: "shell", line: "op" }],
    [null, { kind: "shell", line: "op" }],
    [{}, { kind: "shell", line: "op" }],
    [[], program()],
    [["read", "a b"], program("read", "a b")],
    [
      { field: "x", v: "1", "--raw": "2" },
      program("--field", "x", "-v", "1", "--raw", "2"),
    ],
  ];
  for (const [args, expected] of rows) {
    assertEquals<unknown>(
      commandLine({ command: "op", ...(args !== undefined && { args }) }),
      expected,
    );
  }
});

Deno.test("hideValues() finds plain, JSON and URL forms of values, longest first", () => {
  const hide = (text: string) =>
    hideValues(text, ["s3cr3t", "s3cr3t-2", 'a"b c', ""]);
  assertEquals(
    hide("key s3cr3t and s3cr3t-2."),
    "key <redacted> and <redacted>.",
  );
  assertEquals(hide('{"k":"a\\"b c"} a"b c'), '{"k":"<redacted>"} <redacted>');
  assertEquals(hide("?k=a%22b%20c"), "?k=<redacted>");
  assertEquals(hide("nothing"), "nothing");
});

Deno.test("secretsIn() finds variables and headers by their names", () => {
  const stdio = parseMCPServerConfig({
    name: "a",
    type: "stdio",
    server_parameters: {
      command: "x",
      env: { API_KEY: "k1", HOME: "/home", My_Password: "p1" },
    },
  });
  assertEquals([...new Set(secretsIn(stdio))], ["k1", "p1"]);
  const http = parseMCPServerConfig({
    name: "b",
    type: "http",
    server_parameters: {
      url: "https://x",
      headers: { Authorization: "Bearer t1", Cookie: "c1", Accept: "x" },
    },
  });
  assertEquals([...new Set(secretsIn(http))], ["Bearer t1", "t1", "c1"]);
});

Deno.test("InputStore uses its sources in order: values, environment, user, default", async () => {
  const sources: Required<InputSources> = {
    values: { a: "of values" },
    environment: { SMCP_INPUT_A: "no", SMCP_INPUT_B: "of environment" },
    ask: (input) =>
      Promise.resolve(input.id === "c" ? "of a person" : undefined),
  };
  const ids = ["a", "b", "c", "d"];
  const store = new InputStore(
    ids.map((id) => prompt(id, { default: "default" })),
    sources,
  );
  assertEquals(
    await Promise.all(ids.map((id) => store.value(id))),
    ["of values", "of environment", "of a person", "default"],
  );
});

Deno.test("InputStore keeps the type of values set in code", async () => {
  const store = new InputStore(
    ["n", "o", "z"].map((id) => prompt(id)),
    { values: { n: 5, o: { a: [true] }, z: null } },
  );
  assertEquals(await store.value("n"), 5);
  assertEquals(await store.value("o"), { a: [true] });
  assertEquals(await store.value("z"), null);
});

Deno.test("InputStore names an id without a value, and an undefined one", async () => {
  const store = new InputStore([prompt("api-key"), prompt("env:HOST")]);
  await assertRejects(
    () => store.value("api-key"),
    Error,
    'input "api-key" has no value; give one with --input api-key=VALUE or the environment variable SMCP_INPUT_API_KEY',
  );
  await assertRejects(() => store.value("env:HOST"), Error, "variable HOST");
  await assertRejects(
    () => store.value("constructor"),
    Error,
    'there is no input "constructor"; define it under "inputs"',
  );
  assertThrows(() => store.setValue("nope", 1), Error, '"nope"');
});

Deno.test("InputStore resolves a value once, when it is first needed, and shares the question", async () => {
  const asked: string[] = [];
  const store = new InputStore([prompt("a"), prompt("b")], {
    ask: (input) => {
      asked.push(input.id);
      return Promise.resolve(`${input.id}!`);
    },
  });
  assertEquals(asked, []);
  const values = await Promise.all([store.value("a"), store.value("a")]);
  assertEquals(values, ["a!", "a!"]);
  await store.value("a");
  assertEquals(asked, ["a"]);
});

Deno.test("InputStore asks again after a failure", async () => {
  const answers = [undefined, "late"];
  const store = new InputStore([prompt("a")], {
    ask: () => Promise.resolve(answers.shift()),
  });
  await assertRejects(() => store.value("a"), Error, '"a"');
  assertEquals(await store.value("a"), "late");
});

Deno.test("InputStore forgets only the value of the input that changed", async () => {
  let asked = 0;
  const changes: string[][] = [];
  const store = new InputStore(
    [prompt("a"), prompt("b")],
    { ask: () => Promise.resolve(++asked) },
    () => changes.push(store.definitions.map(({ id }) => id)),
  );
  const values = () => Promise.all([store.value("a"), store.value("b")]);
  assertEquals(await values(), [1, 2]);
  store.put(prompt("c"));
  assertEquals(await values(), [1, 2]);
  store.remove("c");
  assertEquals(await values(), [1, 2]);
  store.put(prompt("b")); // the same
  assertEquals(await values(), [1, 2]);
  store.put(prompt("b", { default: "x" }));
  assertEquals(await values(), [1, 3]);
  store.replace([prompt("a"), prompt("b")]);
  assertEquals(await values(), [1, 4]);
  store.remove("a");
  store.put(prompt("a"));
  assertEquals(await values(), [5, 4]);
  store.put(prompt("b", { default: "y" })); // at the same position
  store.put(prompt("b"));
  assertEquals(await values(), [5, 6]);
  store.setValue("a", "by hand");
  assertEquals(await values(), ["by hand", 6]);
  store.forgetValues("a");
  assertEquals(await values(), [7, 6]);
  store.forgetValues();
  assertEquals(await values(), [8, 9]);
  assertEquals(changes, [
    ["a", "b", "c"],
    ["a", "b"],
    ["a", "b"],
    ["a", "b"],
    ["b"],
    ["b", "a"],
    ["b", "a"],
    ["b", "a"],
  ]);
  assertThrows(
    () => store.put(prompt("")),
    ConfigError,
    "input: inputs.0.id",
  );
});

Deno.test("InputStore accepts only options of a pickString, and shows no other value", async () => {
  const pick: MCPServerInput = {
    type: "pickString",
    id: "region",
    description: "where",
    options: ["eu", "us"],
  };
  const of = (value: string) =>
    new InputStore([pick], { values: { region: value } }).value("region");
  assertEquals(await of("eu"), "eu");
  const error = await assertRejects(() => of("mars-7"), Error, "eu, us");
  assert(!error.message.includes("mars-7"), error.message);
});

Deno.test("InputStore lists the texts to hide", async () => {
  const store = new InputStore(
    [prompt("pin", { password: true }), prompt("n"), prompt("long")],
    { values: { pin: "12", n: "no", long: "long enough" } },
  );
  assertEquals([...store.secrets], []);
  await Promise.all(["pin", "n", "long"].map((id) => store.value(id)));
  assertEquals([...store.secrets], ["12", "long enough"]);
});

const server = (args: string[], env: Record<string, string> = {}) =>
  parseMCPServerConfig({
    name: "a",
    type: "stdio",
    server_parameters: { command: "x", args, env },
  });
const never = new AbortController().signal;

Deno.test("prepareConfig() fills every string but the name and the bundle_id", async () => {
  const inputs = new InputStore(["a", "b"].map((id) => prompt(id)), {
    values: { a: "1", b: 2 },
  });
  const args = ["--key", "${input:a}"];
  const config = {
    ...server(args, { KEY: "k-${input:b}" }),
    name: "${input:a}",
    forbidden_tools: ["f-${input:b}"],
    tool_meta: { t: { alias: "${input:a}" } },
    default_tool_meta: { tags: ["${input:a}"] },
    tool_prefix: "${input:a}",
    vrl: '.x = "${input:b}"',
  };
  assertEquals<unknown>(await prepareConfig(config, inputs, never), {
    ...config,
    forbidden_tools: ["f-2"],
    tool_meta: { t: { alias: "1" } },
    default_tool_meta: { tags: ["1"] },
    tool_prefix: "1",
    vrl: '.x = "2"',
    server_parameters: {
      ...config.server_parameters,
      args: ["--key", "1"],
      env: { KEY: "k-2" },
    },
  });
  const plain = server([]);
  assert(await prepareConfig(plain, inputs, never) === plain);
});

Deno.test("prepareConfig() gives secrets to server_parameters alone", async () => {
  const made = { type: "command", description: "", command: "x" } as const;
  const inputs = new InputStore(
    [prompt("a"), prompt("pin", { password: true }), { ...made, id: "made" }],
    { values: { a: "1", pin: "2", made: "3" } },
  );
  const config = server(["${input:pin}", "${input:made}"]);
  await prepareConfig(config, inputs, never);
  for (
    const [field, value, id] of [
      ["tool_meta", { t: { tags: ["${input:pin}"] } }, "pin"],
      ["forbidden_tools", ["${input:a}", "x${input:made}"], "made"],
      ["vrl", '.x = "${input:pin}"', "pin"],
    ] as const
  ) {
    await assertRejects(
      () => prepareConfig({ ...config, [field]: value }, inputs, never),
      Error,
      `${field} has the input "${id}", which is secret`,
    );
  }
});

Deno.test("InputStore hides no value that Agents see, unless it is a secret, too", async () => {
  const store = new InputStore(
    [prompt("team"), prompt("other"), prompt("pin", { password: true })],
    { values: { team: "billing", other: "other", pin: "billing2" } },
  );
  await Promise.all(["team", "other", "pin"].map((id) => store.value(id)));
  assertEquals(["team", "pin"].map((id) => store.show(id)), [true, false]);
  assertEquals([...store.secrets], ["billing2", "other"]);
});

Deno.test("prepareConfig() names every missing input, and each field with an invalid value", async () => {
  const inputs = new InputStore([prompt("a"), prompt("b"), prompt("n")], {
    values: { n: 80 },
  });
  const error = await assertRejects(() =>
    prepareConfig(
      server(["${input:a}", "${input:b}", "${input:c}"]),
      inputs,
      never,
    )
  );
  assert(error instanceof Error);
  for (const part of ['"a" has no value', '"b" has no value', 'no input "c"']) {
    assert(error.message.includes(part), error.message);
  }
  await assertRejects(
    () => prepareConfig(server(["${input:n}"]), inputs, never),
    Error,
    "does not fit: server_parameters.args.0",
  );
});

Deno.test("prepareConfig() stops waiting when the server is stopped; the question stays open for others", async () => {
  const answer = Promise.withResolvers<unknown>();
  const inputs = new InputStore([prompt("a")], { ask: () => answer.promise });
  const stop = new AbortController();
  const stopped = prepareConfig(server(["${input:a}"]), inputs, stop.signal);
  const other = prepareConfig(server(["${input:a}"]), inputs, never);
  stop.abort(new Error("stopped"));
  await assertRejects(() => stopped, Error, "stopped");
  answer.resolve("x");
  const filled = await other;
  assert(filled.type === "stdio");
  assertEquals(filled.server_parameters.args, ["x"]);
});

Deno.test("TextTail cuts between words, so that no part of a secret is left", () => {
  const tail = new TextTail();
  tail.push(new TextEncoder().encode(`${"x".repeat(3_000)}s3cr3t `));
  tail.push(new TextEncoder().encode(`${"y ".repeat(1_998)}end`));
  const text = tail.toString();
  assert(text.endsWith("y end") && !text.includes("t "), text.slice(0, 20));
});

Deno.test("InputStore.render() fills in values, and hides secrets", async () => {
  const store = new InputStore([
    { type: "promptString", id: "who", description: "" },
    { type: "promptString", id: "key", description: "", password: true },
    { type: "pickString", id: "none", description: "", options: [] },
  ], { values: { who: "me", key: "s3cret" } });
  assertEquals(await store.values(), [
    { id: "who", known: false },
    { id: "key", known: false },
    { id: "none", known: false },
  ]);
  assertEquals(
    await store.render({ a: "${input:who}", b: ["Bearer ${input:key}"] }),
    { a: "me", b: ["Bearer <redacted>"] },
  );
  assertEquals(await store.values(), [
    { id: "who", known: true, value: "me" },
    { id: "key", known: true },
    { id: "none", known: false },
  ]);
  await assertRejects(
    () => store.render(["${input:none}", "${input:typo}"]),
    Error,
    "typo",
  );
});
