import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { commandLine } from "../../../../computer/config/command_input.ts";
import {
  fillPlaceholders,
  prepareConfig,
} from "../../../../computer/config/fill_inputs.ts";
import {
  InputStore,
  InvalidSelectionError,
} from "../../../../computer/config/input_store.ts";
import { ConfigError } from "../../../../computer/config/problem.ts";
import {
  inputVariables,
  parseInputFlag,
  placeholderIds,
  sharedVariable,
} from "../../../../computer/util/inputs.ts";
import { TextTail } from "../../../../computer/util/diagnostics.ts";
import { hideValues, secretsIn } from "../../../../computer/util/secrets.ts";
import {
  type MCPServerInput,
  parseMCPServerConfig,
} from "../../../../protocol/mod.ts";
import vectors from "../../../vectors/input_variables.json" with {
  type: "json",
};

const prompt = (
  id: string,
  more: { default?: string; password?: boolean } = {},
): MCPServerInput => ({ type: "promptString", id, description: id, ...more });

const pick = (over: { default?: string } = {}): MCPServerInput => ({
  type: "pickString",
  id: "region",
  description: "where",
  options: [{ label: "Europe", value: "eu" }, "us"],
  ...over,
});

/** A store of text inputs with these values. */
const storeOf = (values: Record<string, unknown>) =>
  new InputStore(Object.keys(values).map((id) => prompt(id)), { values });

const resolved = (store: InputStore) =>
  Promise.all(store.definitions.map(({ id }) => store.value(id)));

Deno.test("placeholderIds() finds every placeholder, in any string at any depth", () => {
  assertEquals(
    placeholderIds({
      a: "${input:one}",
      b: ["x${input:two}y${input:one}", { c: "${input:three words}" }],
      d: 5,
      e: null,
      f: "${env:HOME} $input:no} ${input}",
    }),
    ["one", "two", "three words"],
  );
});

Deno.test("fillPlaceholders() fills every string, and keeps the type of a sole placeholder's value", () => {
  const values = new Map<string, unknown>(Object.entries({
    text: "abc",
    number: 5,
    flag: false,
    nothing: null,
    list: [1, 2],
    empty: "",
    tricky: "$& ${input:text}",
  }));
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
    [
      { "${input:text}": ["${input:text}", { b: "${input:number}" }] },
      { "${input:text}": ["abc", { b: 5 }] },
    ],
  ];
  for (const [value, filled] of rows) {
    assertEquals(fillPlaceholders(value, values), filled);
  }
  assertThrows(
    () => fillPlaceholders(["${input:text}", "${input:b}"], values),
    Error,
    "${input:b}",
  );
  const nested = (levels: number): unknown =>
    levels === 0 ? "${input:number}" : [nested(levels - 1)];
  const filled = fillPlaceholders(nested(10), values);
  assertEquals(JSON.stringify(filled), "[[[[[[[[[[5]]]]]]]]]]");
  assertThrows(() => fillPlaceholders(nested(11), values), Error, "10 levels");
});

Deno.test("protocol §4: inputVariables() lists the environment variables of an input, that of other SDKs last", async () => {
  const rows: [id: string, ...variables: string[]][] = [
    ["TOKEN", "SMCP_INPUT_TOKEN", "A2C_SMCP_TOKEN"],
    [
      "github-token",
      "SMCP_INPUT_github-token",
      "SMCP_INPUT_GITHUB_TOKEN",
      "A2C_SMCP_github_token",
    ],
    ["a b.ü", "SMCP_INPUT_a b.ü", "SMCP_INPUT_A_B__", "A2C_SMCP_a_b__"],
    ["env:HOME", "HOME", "SMCP_INPUT_env:HOME", "SMCP_INPUT_ENV_HOME"],
    [
      "env:HOME#2",
      "HOME",
      "SMCP_INPUT_env:HOME#2",
      "SMCP_INPUT_ENV_HOME_2",
    ],
  ];
  for (const [id, ...variables] of rows) {
    assertEquals(inputVariables(id), variables);
    for (const [at] of variables.entries()) {
      const environment = Object.fromEntries(
        variables.slice(at).map((name) => [name, `of ${name}`]),
      );
      const store = new InputStore([prompt(id)], { environment });
      assertEquals(await store.value(id), `of ${variables[at]}`);
    }
  }
});

Deno.test("protocol §4: sharedVariable() gives the names of all vectors", () => {
  assertEquals(vectors.vectors.length, 16);
  for (const row of vectors.vectors) {
    const owners = [row.bundle_id, row.tool_name].filter((one) => one !== null);
    assertEquals(
      sharedVariable(row.input_id, ...owners),
      row.expected_env_var_name,
    );
  }
});

Deno.test("parseInputFlag() splits at the first '=', and never shows a value", () => {
  assertEquals(parseInputFlag("a=b=c"), ["a", "b=c"]);
  assertEquals(parseInputFlag("a="), ["a", ""]);
  for (const text of ["hunter2", "=hunter2"]) {
    const { message } = assertThrows(() => parseInputFlag(text), TypeError);
    assert(message.includes("ID=VALUE") && !message.includes("hunter2"));
  }
});

Deno.test("commandLine() is a shell command without args, a program with a list, options with a map", () => {
  const shell = { command: "op" };
  const program = (...args: string[]) => ({ command: "op", args });
  assertEquals<unknown>(commandLine({ command: "op" }), shell);
  const rows: [Parameters<typeof commandLine>[0]["args"], object][] = [
    [null, shell],
    [{}, shell],
    [[], program()],
    [["read", "a b"], program("read", "a b")],
    [
      { field: "x", v: "1", "--raw": "2" },
      program("--field", "x", "-v", "1", "--raw", "2"),
    ],
  ];
  for (const [args = null, expected] of rows) {
    assertEquals<unknown>(commandLine({ command: "op", args }), expected);
  }
});

Deno.test("hideValues() finds plain, JSON and URL forms of values, longest first", () => {
  const rows: [text: string, shown: string][] = [
    ["key s3cr3t and s3cr3t-2.", "key <redacted> and <redacted>."],
    ['{"k":"a\\"b c"} a"b c', '{"k":"<redacted>"} <redacted>'],
    ["?k=a%22b%20c", "?k=<redacted>"],
    ["nothing", "nothing"],
  ];
  for (const [text, shown] of rows) {
    assertEquals(hideValues(text, ["s3cr3t", "s3cr3t-2", 'a"b c', ""]), shown);
  }
});

Deno.test("secretsIn() finds variables and headers by their names", () => {
  const found = (type: string, server_parameters: object) => [
    ...new Set(
      secretsIn(parseMCPServerConfig({ name: "a", type, server_parameters })),
    ),
  ];
  const env = { API_KEY: "k1", HOME: "/home", My_Password: "p1" };
  assertEquals(found("stdio", { command: "x", env }), ["k1", "p1"]);
  const headers = { Authorization: "Bearer t1", Cookie: "c1", Accept: "x" };
  assertEquals(
    found("http", { url: "https://x", headers }),
    ["Bearer t1", "t1", "c1"],
  );
});

Deno.test("TextTail cuts between words, so that no part of a secret is left", () => {
  const tail = new TextTail();
  tail.push(new TextEncoder().encode(`${"x".repeat(3_000)}s3cr3t `));
  tail.push(new TextEncoder().encode(`${"y ".repeat(1_998)}end`));
  const text = tail.toString();
  assert(text.endsWith("y end") && !text.includes("t "), text.slice(0, 20));
});

Deno.test("InputStore uses its sources in order: values, environment, user, default", async () => {
  const store = new InputStore(
    ["a", "b", "c", "d"].map((id) => prompt(id, { default: "default" })),
    {
      values: { a: "of values" },
      environment: { SMCP_INPUT_A: "no", SMCP_INPUT_B: "of environment" },
      ask: ({ id }) => Promise.resolve(id === "c" ? "of a person" : undefined),
    },
  );
  assertEquals(
    await resolved(store),
    ["of values", "of environment", "of a person", "default"],
  );
});

Deno.test("InputStore keeps the type of values set in code", async () => {
  const values = { n: 5, o: { a: [true] }, z: null };
  assertEquals(await resolved(storeOf(values)), Object.values(values));
});

Deno.test("InputStore names an id without a value, and an undefined one", async () => {
  const store = new InputStore([prompt("api-key"), prompt("env:HOST")]);
  const rows: [id: string, says: string][] = [
    [
      "api-key",
      'input "api-key" has no value; give one with --input api-key=VALUE or the environment variable SMCP_INPUT_API_KEY',
    ],
    ["env:HOST", "variable HOST"],
    [
      "constructor",
      'there is no input "constructor"; define it under "inputs"',
    ],
  ];
  for (const [id, says] of rows) {
    await assertRejects(() => store.value(id), Error, says);
  }
  assertThrows(() => store.setValue("nope", 1), Error, '"nope"');
});

Deno.test("InputStore resolves a value once, when it is first needed, and shares the question; after a failure it asks again", async () => {
  const asked: string[] = [];
  const answers = ["a!", undefined, "late"];
  const store = new InputStore([prompt("a"), prompt("b")], {
    ask: ({ id }) => {
      asked.push(id);
      return Promise.resolve(answers.shift());
    },
  });
  assertEquals(asked, []);
  const values = await Promise.all([store.value("a"), store.value("a")]);
  assertEquals([...values, await store.value("a")], ["a!", "a!", "a!"]);
  assertEquals(asked, ["a"]);
  await assertRejects(() => store.value("b"), Error, '"b"');
  assertEquals(await store.value("b"), "late");
});

Deno.test("InputStore forgets only the value of the input that changed", async () => {
  let asked = 0;
  const changes: string[] = [];
  const store = new InputStore(
    [prompt("a"), prompt("b")],
    { ask: () => Promise.resolve(++asked) },
    () => changes.push(store.definitions.map(({ id }) => id).join("")),
  );
  const steps: [change: () => void, a: unknown, b: unknown][] = [
    [() => {}, 1, 2],
    [() => store.put(prompt("c")), 1, 2],
    [() => store.remove("c"), 1, 2],
    [() => store.put(prompt("b")), 1, 2], // the same
    [() => store.put(prompt("b", { default: "x" })), 1, 3],
    [() => store.replace([prompt("a"), prompt("b")]), 1, 4],
    [() => (store.remove("a"), store.put(prompt("a"))), 5, 4],
    [() => store.put(prompt("b", { default: "y" })), 5, 6], // in its place
    [() => store.put(prompt("b")), 5, 7],
    [() => store.setValue("a", "by hand"), "by hand", 7],
    [() => store.forgetValues("a"), 8, 7],
    [() => store.forgetValues(), 9, 10],
  ];
  for (const [change, ...values] of steps) {
    change();
    assertEquals([await store.value("a"), await store.value("b")], values);
  }
  assertEquals(changes, ["abc", "ab", "ab", "ab", "b", "ba", "ba", "ba"]);
  assertThrows(() => store.put(prompt("")), ConfigError, "input: inputs.0.id");
});

Deno.test("protocol §4: two inputs with one variable are an error, also when one is put", () => {
  const store = new InputStore([prompt("a-b")]);
  assertThrows(() => store.put(prompt("a_b")), Error, "rename one of them");
  store.put(prompt("a-b", { default: "again" }));
  assertEquals(store.definitions.length, 1);
});

Deno.test("protocol §4: a pickString takes values of options in both forms, and no label, and shows no other value", async () => {
  const of = (region: unknown) =>
    new InputStore([pick()], { values: { region } }).value("region");
  assertEquals([await of("eu"), await of("us")], ["eu", "us"]);
  const error = await assertRejects(() => of("Europe"), InvalidSelectionError);
  assertEquals([error.id, error.value], ["region", "Europe"]);
  assertEquals(
    error.message,
    'the value of input "region" is not one of its options: eu, us',
  );
});

Deno.test("protocol §4: a pickString that nobody answers is its default, then its first option, and not kept", async () => {
  for (
    const [input, value] of [[pick(), "eu"], [
      pick({ default: "us" }),
      "us",
    ]] as const
  ) {
    const store = new InputStore([input]);
    assertEquals(await store.value("region"), value);
    assertEquals(await store.values(), [{ id: "region", known: false }]);
  }
  let asked = 0;
  const store = new InputStore([pick()], {
    ask: () => Promise.resolve(void asked++),
  });
  assertEquals([await store.value("region"), await store.value("region")], [
    "eu",
    "eu",
  ]);
  assertEquals(asked, 1);
});

Deno.test("InputStore lists the texts to hide, but for those that Agents see, unless they are secrets, too", async () => {
  const store = new InputStore(
    [
      prompt("pin", { password: true }),
      ...["n", "long", "team"].map((id) => prompt(id)),
    ],
    { values: { pin: "12", n: "no", long: "long enough", team: "billing" } },
  );
  assertEquals([...store.secrets], []);
  await resolved(store);
  assertEquals([...store.secrets], ["12", "no", "long enough", "billing"]);
  assertEquals([store.show("team"), store.show("pin")], [true, false]);
  assertEquals([...store.secrets], ["12", "no", "long enough"]);
});

Deno.test("InputStore.render() fills in values, and hides secrets", async () => {
  const store = new InputStore(
    [prompt("who"), prompt("key", { password: true }), prompt("none")],
    { values: { who: "me", key: "s3cret" } },
  );
  const unknown = ["who", "key", "none"].map((id) => ({ id, known: false }));
  assertEquals(await store.values(), unknown);
  assertEquals(
    await store.render({ a: "${input:who}", b: ["Bearer ${input:key}"] }),
    { a: "me", b: ["Bearer <redacted>"] },
  );
  assertEquals(await store.values(), [
    { id: "who", known: true, value: "me" },
    { id: "key", known: true },
    { id: "none", known: false },
  ]);
  await assertRejects(() => store.render(["${input:typo}"]), Error, "typo");
});

const server = (args: string[], env: Record<string, string> = {}) =>
  parseMCPServerConfig({
    name: "a",
    type: "stdio",
    server_parameters: { command: "x", args, env },
  });
const never = new AbortController().signal;

Deno.test("prepareConfig() fills every string but the name and the bundle_id", async () => {
  const inputs = storeOf({ a: "1", b: 2 });
  const config = {
    ...server(["--key", "${input:a}"], { KEY: "k-${input:b}" }),
    name: "${input:a}",
    forbidden_tools: ["f-${input:b}"],
    tool_meta: { t: { alias: "${input:a}" } },
    default_tool_meta: { tags: ["${input:a}"] },
    tool_prefix: "${input:a}",
    vrl: '.x = "${input:b}"',
  };
  assertEquals<unknown>(await prepareConfig(config, inputs, never), {
    ...server(["--key", "1"], { KEY: "k-2" }),
    name: "${input:a}",
    forbidden_tools: ["f-2"],
    tool_meta: { t: { alias: "1" } },
    default_tool_meta: { tags: ["1"] },
    tool_prefix: "1",
    vrl: '.x = "2"',
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
      `${field} has the input "${id}", which is secret, but Agents see that field; use an input that is neither a "password" nor a "command"`,
    );
  }
});

Deno.test("prepareConfig() names every missing input, and each field with an invalid value", async () => {
  const inputs = new InputStore(["a", "b", "n"].map((id) => prompt(id)), {
    values: { n: 80 },
  });
  const { message } = await assertRejects(
    () =>
      prepareConfig(
        server(["${input:a}", "${input:b}", "${input:c}"]),
        inputs,
        never,
      ),
    Error,
  );
  for (const part of ['"a" has no value', '"b" has no value', 'no input "c"']) {
    assert(message.includes(part), message);
  }
  await assertRejects(
    () => prepareConfig(server(["${input:n}"]), inputs, never),
    Error,
    "does not fit: server_parameters.args.0",
  );
  const prefixed = { ...server([]), tool_prefix: "no prefix ${input:n}" };
  await assertRejects(
    () => prepareConfig(prefixed, inputs, never),
    Error,
    "the value of an input does not fit: tool_prefix: ",
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
  assertEquals(await other, server(["x"]));
});
