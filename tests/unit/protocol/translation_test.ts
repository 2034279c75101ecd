import fc from "fast-check";
import { assertEquals, assertThrows } from "@std/assert";
import type { ClientEvent } from "../../../protocol/mod.ts";
import { type Profile, PROFILES } from "../../../protocol/profiles.ts";
import { LimitError, ServerNames } from "../../../protocol/server_names.ts";
import { serverFor, translateAnswer } from "../../../protocol/translation.ts";
import { JsonTooLargeError } from "../../../protocol/json_bytes.ts";

const OLD = PROFILES["0.2"];
const NEW = PROFILES["0.4"];

/** An answer as a Computer wrote it, and for whom it is. */
interface Written {
  readonly event: ClientEvent;
  readonly text: string;
  readonly names: ServerNames;
  readonly reader: Profile;
  readonly most?: number;
}

/** Translates a text; `undefined` where it stays as it came. */
function textFor(
  { event, text, names, reader, most = Infinity }: Written,
): string | undefined {
  // What is around it in its buffer must not matter.
  const bytes = new TextEncoder().encode(`[${text}"`);
  const answer: unknown = JSON.parse(text);
  const edited = translateAnswer({
    bytes,
    start: 1,
    end: bytes.length - 1,
    event,
    failure: Object(answer),
    reader,
    most,
  }, names);
  return edited && new TextDecoder().decode(edited);
}

/** Translates a value. */
function translate(
  event: ClientEvent,
  answer: unknown,
  names: ServerNames,
  reader: Profile,
): unknown {
  const text = JSON.stringify(answer);
  return JSON.parse(textFor({ event, text, names, reader }) ?? text);
}

const requestOf = (request: { mcp_server: string }, names: ServerNames) => {
  const mcp_server = serverFor("client:get_resources", request, names);
  return mcp_server === undefined ? request : { ...request, mcp_server };
};

const noticeOf = (notice: { mcp_server: string }, names: ServerNames) => ({
  ...notice,
  mcp_server: serverFor("notify:update_resources", notice, names),
});

const server = (name: string, more: object = {}) => ({
  name,
  type: "stdio",
  server_parameters: { command: "x" },
  ...more,
});
const configOf = (servers: Record<string, object>, inputs?: unknown) => ({
  servers,
  ...(inputs !== undefined && { inputs }),
});
const asked = (mcp_server: string) => ({ agent: "a", mcp_server });
const keysOf = (answer: unknown): [string, unknown, unknown][] =>
  Object.entries(Object(answer).servers).map(([key, value]) => {
    const { name, bundle_id } = Object(value);
    return [key, name, bundle_id];
  });

Deno.test("names differ only between 0.2 and 0.3; in requests they are those of events that have mcp_server (protocol §14)", () => {
  const named = Object.entries(PROFILES).filter(([, it]) => it.bundleIds);
  assertEquals(named.map(([name]) => name), ["0.3", "0.4"]);
  const names = new ServerNames();
  names.give("my files", "my_files");
  const asked = { mcp_server: "my_files" };
  assertEquals(serverFor("client:read_resource", asked, names), "my files");
  assertEquals(serverFor("client:tool_call", asked, names), undefined);
});

Deno.test("get_tools of an older Computer: bundle_id from the tag, derived, numbered, or mcp (protocol §13)", () => {
  const names = new ServerNames();
  const tool = (server?: string, more: object = {}) => ({
    name: "t",
    ...(server !== undefined && { meta: { a2c_mcp_server: server } }),
    ...more,
  });
  const rows: [object, string][] = [
    [tool("files"), "files"],
    [tool("My Server!"), "My_Server"],
    [tool("My.Server"), "My_Server-2"],
    [tool("files"), "files"],
    [tool("a__b"), "a_b"],
    [tool("🛰 🛰"), "mcp"],
    [tool("…"), "mcp-2"],
    [tool(undefined), "mcp"],
    [tool("files", { bundle_id: "own" }), "own"],
    [tool("files", { bundle_id: null }), "files"],
    [{ name: "t", meta: null }, "mcp"],
  ];
  const answer = { tools: rows.map(([tool]) => tool), req_id: "1", more: 1 };
  assertEquals(translate("client:get_tools", answer, names, NEW), {
    ...answer,
    tools: rows.map(([tool, bundle_id]) => ({ ...tool, bundle_id })),
  });
  const back = (id: string) => requestOf(asked(id), names);
  assertEquals(back("My_Server"), asked("My Server!"));
  assertEquals(back("My_Server-2"), asked("My.Server"));
  assertEquals(back("mcp-2"), asked("…"));
  assertEquals(back("nobody"), asked("nobody"));
});

Deno.test("get_tools without tags: the only MCP server that is known, else mcp (protocol §13)", () => {
  const idOf = (servers: Record<string, object>) => {
    const names = new ServerNames();
    translate("client:get_config", configOf(servers), names, NEW);
    const answer = { tools: [{ name: "t" }] };
    const { tools: [tool] } = Object(
      translate("client:get_tools", answer, names, NEW),
    );
    return tool.bundle_id;
  };
  assertEquals(idOf({ "the files": server("the files") }), "the_files");
  assertEquals(idOf({ a: server("a"), b: server("b") }), "mcp");
  assertEquals(idOf({}), "mcp");
});

Deno.test("get_tools of a newer Computer passes unchanged to an older Agent: names of tools are opaque", () => {
  const answer = { tools: [{ name: "a__b", bundle_id: "a" }], req_id: "1" };
  const translated = textFor({
    event: "client:get_tools",
    text: JSON.stringify(answer),
    names: new ServerNames(),
    reader: OLD,
  });
  assertEquals(translated === undefined, true);
});

Deno.test("get_config for a newer Agent: keys and bundle_id are derived, explicit ones stay, a clash gets a number (protocol §13)", () => {
  const names = new ServerNames();
  const answer = configOf({
    "my files": server("my files"),
    "my/files": server("my/files"),
    tagged: server("tagged", { bundle_id: "own-id" }),
    bad: server("bad", { bundle_id: "a__b" }),
    odd: 7 as unknown as object,
  });
  const again = () => translate("client:get_config", answer, names, NEW);
  const expected: [string, unknown, unknown][] = [
    ["my_files", "my files", "my_files"],
    ["my_files-2", "my/files", "my_files-2"],
    ["own-id", "tagged", "own-id"],
    ["bad", "bad", "bad"],
    ["odd", undefined, undefined],
  ];
  assertEquals(keysOf(again()), expected);
  assertEquals(keysOf(again()), expected, "the same again");
  assertEquals(requestOf(asked("own-id"), names), asked("tagged"));
  // What was given keeps its meaning when the order changes.
  const { servers } = answer;
  const turned = configOf({
    "my/files": servers["my/files"]!,
    "my files": servers["my files"]!,
  });
  assertEquals(
    keysOf(translate("client:get_config", turned, names, NEW))
      .map(([key]) => key),
    ["my_files-2", "my_files"],
  );
});

Deno.test("get_config for an older Agent: keys become names where they are unique (protocol §4, §13)", () => {
  const names = new ServerNames();
  const answer = configOf({
    files: server("The Files", { bundle_id: "files" }),
    one: server("twin"),
    two: server("twin"),
    three: server(""),
    four: server("files"),
  });
  const expected: [string, unknown, unknown][] = [
    ["The Files", "The Files", "files"],
    ["one", "one", undefined],
    ["two", "two", undefined],
    ["three", "three", undefined],
    ["four", "four", undefined],
  ];
  const keys = (answer: unknown) =>
    keysOf(translate("client:get_config", answer, names, OLD));
  assertEquals(keys(answer), expected);
  assertEquals(requestOf(asked("The Files"), names), asked("files"));
  assertEquals(requestOf(asked("twin"), names), asked("twin"));
  assertEquals(requestOf(asked("files"), names), asked("files"));
  // A server that takes the name of another gets a number: the name keeps its meaning.
  const later = configOf({ other: server("The Files") });
  assertEquals(keys(later), [["The Files-2", "The Files-2", undefined]]);
  assertEquals(keys(later), [["The Files-2", "The Files-2", undefined]]);
  assertEquals(requestOf(asked("The Files-2"), names), asked("other"));
});

Deno.test("options of a pickString have the reader's form: texts until 0.2, labels from 0.3 on (protocol §4)", () => {
  const input = (options: unknown) => ({
    id: "i",
    type: "pickString",
    description: "d",
    options,
  });
  const texts = ["a", "b"];
  const labels = [{ label: "a", value: "a" }, { label: "b", value: "b" }];
  const optionsFor = (reader: typeof OLD, options: unknown) => {
    const answer = configOf({}, [input(options), { type: "command" }]);
    const { inputs } = Object(
      translate("client:get_config", answer, new ServerNames(), reader),
    );
    assertEquals(inputs[1], { type: "command" });
    return inputs[0].options;
  };
  assertEquals(optionsFor(NEW, texts), labels);
  assertEquals(optionsFor(NEW, labels), labels);
  assertEquals(optionsFor(OLD, [{ label: "A", value: "a" }, "b"]), texts);
  assertEquals(optionsFor(OLD, "odd"), "odd");
});

Deno.test("mcp_server in prompts, templates, instructions, notices and errors follows the names that were given", () => {
  const names = new ServerNames();
  const config = configOf({ "my files": server("my files") });
  translate("client:get_config", config, names, NEW);
  const prompts = { prompts: [{ name: "p", mcp_server: "my files" }, 7] };
  assertEquals(translate("client:get_prompts", prompts, names, NEW), {
    prompts: [{ name: "p", mcp_server: "my_files" }, 7],
  });
  for (
    const [event, list] of [
      ["client:get_resource_templates", "resource_templates"],
      ["client:get_instructions", "instructions"],
    ] as const
  ) {
    const answer = { [list]: [{ mcp_server: "my files", text: "t" }, 7] };
    assertEquals(translate(event, answer, names, NEW), {
      [list]: [{ mcp_server: "my_files", text: "t" }, 7],
    });
  }
  const notice = { computer: "pc", mcp_server: "my files", uri: "u:" };
  assertEquals(noticeOf(notice, names), {
    ...notice,
    mcp_server: "my_files",
  });
});

Deno.test("translate() passes on unchanged what is no answer, and keeps a hostile list cheap", () => {
  for (const odd of [{}, { tools: 7 }, { servers: [] }, { tools: [[{}], 1] }]) {
    for (const event of ["client:get_tools", "client:get_config"] as const) {
      for (const reader of [OLD, NEW]) {
        assertEquals(
          translate(event, odd, new ServerNames(), reader),
          odd,
        );
      }
    }
  }
  const names = new ServerNames();
  // Nothing is left of any of these names: all of them clash.
  const many = Array.from({ length: 9_000 }, (_, n) => ({
    meta: {
      a2c_mcp_server: String.fromCodePoint(0x20000 + n % 1000).repeat(
        1 + n % 20,
      ),
    },
  }));
  const { tools } = Object(
    translate("client:get_tools", { tools: many }, names, NEW),
  );
  assertEquals(
    new Set(tools.map((tool: { bundle_id: string }) => tool.bundle_id)).size,
    1000,
  );
  const rows: [tools: object[], why: string][] = [
    [Array(10_001).fill({}), "has more than 10000 items to translate"],
    [
      Array.from({ length: 1001 }, (_, n) => ({
        meta: { a2c_mcp_server: `new ${n}` },
      })),
      "names more than 1000 MCP servers",
    ],
    [
      Array.from({ length: 900 }, (_, n) => ({
        meta: { a2c_mcp_server: `${n}`.padEnd(256, "é") },
      })),
      "names MCP servers with more than 262144 bytes of names",
    ],
  ];
  for (const [tools, why] of rows) {
    for (const names of [new ServerNames(), knownNames()]) {
      assertThrows(
        () => translate("client:get_tools", { tools }, names, NEW),
        LimitError,
        why,
      );
    }
  }
  // Names of earlier answers are forgotten for new ones.
  const full = Array.from({ length: 1000 }, (_, n) => ({
    meta: { a2c_mcp_server: `other ${n}` },
  }));
  translate("client:get_tools", { tools: full }, names, NEW);
  assertEquals(names.givenTo("other 999"), "other_999");
  const poisoned = JSON.parse('{"servers":{"__proto__":{"name":"n"}}}');
  const answer = translate(
    "client:get_config",
    poisoned,
    new ServerNames(),
    NEW,
  );
  assertEquals(keysOf(answer), [["proto", "n", "proto"]]);
});

/** Names of `my files` as a reader from 0.3 on has them. */
function knownNames(): ServerNames {
  const names = new ServerNames();
  names.give("my files", "my_files");
  return names;
}

Deno.test("errors name the MCP server as the reader's version does, flat and nested as in 0.1, with its code (§6, §14)", () => {
  const forNew = (code: number, more: object = {}) => ({
    code,
    message: "no",
    mcp_server: "my_files",
    ...more,
  });
  const own = { message: "no", mcp_server: "my files" };
  const rows: [reader: Profile, before: object, after: object][] = [
    [NEW, { code: 404, ...own }, forNew(4014)],
    [NEW, { code: 404, ...own, reason: "x" }, forNew(404, { reason: "x" })],
    [NEW, { error: { code: 404, ...own } }, { error: forNew(4014) }],
    [NEW, { code: 4015, ...own, mcp_server_name: "my files" }, {
      ...forNew(4015),
      mcp_server_name: "my_files",
    }],
    [
      NEW,
      { code: 4015, message: "no", mcp_server_name: "my files" },
      {
        code: 4015,
        message: "no",
        mcp_server_name: "my_files",
        mcp_server: "my_files",
      },
    ],
    [NEW, { code: 404, message: "no" }, { code: 404, message: "no" }],
    [OLD, { code: 4014, ...own }, forNew(404)],
    [OLD, { code: 4014, message: "no", details: { name: "s" } }, {
      code: 4014,
      message: "no",
      details: { name: "s" },
    }],
    [OLD, { code: 4015, ...own, capability: "prompts" }, {
      ...forNew(4015),
      capability: "prompts",
      mcp_server_name: "my_files",
    }],
    [OLD, { error: { code: 4015, ...own } }, {
      error: { ...forNew(4015), mcp_server_name: "my_files" },
    }],
  ];
  for (const [reader, before, after] of rows) {
    for (const event of ["client:get_tools", "client:get_skill"] as const) {
      const translated = translate(event, before, knownNames(), reader);
      assertEquals(translated, after, JSON.stringify(before));
    }
  }
});

Deno.test("meta of a tool call that wants authorization names the MCP server as the reader does; other results pass (§6, §14)", () => {
  const meta = (mcp_server: string) => ({ error_code: 4006, mcp_server });
  const failed = (name: string) => ({
    content: [{ type: "text", text: "my files" }],
    isError: true,
    meta: meta(name),
    _meta: meta(name),
  });
  const names = knownNames();
  const event = "client:tool_call";
  assertEquals(
    translate(event, failed("my files"), names, NEW),
    failed("my_files"),
  );
  const fine = { content: [], meta: meta("my files") };
  const text = JSON.stringify(fine);
  assertEquals(textFor({ event, text, names, reader: NEW }), undefined);
});

Deno.test("names above 256 units are no identifiers: they pass, and are not kept; what is kept is bounded in bytes (§4, §10)", () => {
  const names = new ServerNames();
  const long = "x".repeat(257);
  const config = configOf({ [long]: server(long), ok: server("ok") });
  const answer = translate("client:get_config", config, names, NEW);
  assertEquals(keysOf(answer).map(([key]) => key), [long, "ok"]);
  assertEquals(names.bytes, 2 * "okok".length);
  const tools = { tools: [{ meta: { a2c_mcp_server: long } }] };
  translate("client:get_tools", tools, names, NEW);
  assertEquals(names.bytes, 2 * "okok".length);
  for (let n = 0; n < 2000; n++) {
    const name = `${n}`.padEnd(256, "é");
    const one = { tools: [{ meta: { a2c_mcp_server: name } }] };
    translate("client:get_tools", one, names, NEW);
    assertEquals(names.bytes <= 256 * 1024, true, `${n}`);
  }
});

Deno.test("an answer that would become larger than a message is refused while it is written (§10)", () => {
  const text = JSON.stringify({ tools: Array(1000).fill({}) });
  const written = {
    event: "client:get_tools",
    text,
    names: new ServerNames(),
    reader: NEW,
  } as const;
  const whole = textFor(written)!;
  assertEquals(textFor({ ...written, most: whole.length }), whole);
  assertThrows(
    () => textFor({ ...written, most: whole.length - 1 }),
    JsonTooLargeError,
    `larger than ${whole.length - 1} bytes`,
  );
});

// ------------------------------------------------------------------ what is not named keeps its bytes (§14)

/** Blanks where JSON may have them. */
const blank = fc.stringMatching(/^[ \t\n\r]{0,2}$/);

/** Numbers of any size and form. */
const number = fc.oneof(
  fc.constantFrom("0", "-0", "1E400", "1e-400", "0.10", "1234567890123456789"),
  fc.stringMatching(
    /^-?[1-9][0-9]{0,39}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?$/,
  ),
);

/** Texts with escapes that nobody would write, and half of a pair. */
const quoted = fc.array(
  fc.oneof(
    fc.constantFrom(
      "\\u0061",
      "\\ud800",
      "\\/",
      "\\\\",
      '\\"',
      "é",
      "\u{1f600}",
    ),
    fc.constantFrom(..."abc ,:[]{}"),
  ),
  { maxLength: 6 },
).map((parts) => `"${parts.join("")}"`);

/** JSON texts of any kind: long numbers, duplicates, blanks, odd escapes. */
const json = fc.letrec<{ value: string; list: string; object: string }>(
  (tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      number,
      quoted,
      fc.constantFrom("true", "false", "null"),
      tie("list"),
      tie("object"),
    ),
    list: fc.array(fc.tuple(blank, tie("value"), blank), { maxLength: 4 })
      .map((items) => `[${items.map((item) => item.join("")).join(",")}]`),
    object: fc.array(
      fc.tuple(blank, quoted, blank, fc.constant(":"), tie("value"), blank),
      { maxLength: 4 },
    ).map((members) => `{${members.map((it) => it.join("")).join(",")}}`),
  }),
).value;

/** Members that no translation names. */
const others = fc.array(fc.tuple(quoted, blank, json), { maxLength: 4 })
  .map((members) =>
    members.map(([key, space, value]) => `${key}${space}:${space}${value}`)
  );

/** Puts members into an object, one of them somewhere among the others. */
const objectOf = (members: readonly string[], own: string, at: number) =>
  `{${members.toSpliced(at % (members.length + 1), 0, own).join(" , ")} }`;

Deno.test("translateAnswer() keeps the bytes of all that it does not name: random texts", () => {
  fc.assert(
    fc.property(others, others, fc.nat(), fc.boolean(), (a, b, at, isOld) => {
      const reader = isOld ? OLD : NEW;
      const check = (event: ClientEvent, before: string, after: string) => {
        const names = knownNames();
        const edited = textFor({ event, text: before, names, reader });
        assertEquals(edited ?? before, after);
        JSON.parse(after);
      };
      const around = (own: string) => objectOf(a, own, at);
      // Tools get an id behind all that they have.
      const tag = '"meta":{"x":1e3,"a2c_mcp_server":"my files"}';
      const tool = objectOf(b, tag, at);
      const withId = tool.replace(/ \}$/, ',"bundle_id":"my_files" }');
      check(
        "client:get_tools",
        around(`"tools":[ 1 ,${tool}]`),
        around(`"tools":[ 1 ,${isOld ? tool : withId}]`),
      );
      // A prompt, and an error with a code of another kind.
      for (
        const [event, write] of [
          ["client:get_prompts", (name: string) =>
            around(
              `"prompts":[${objectOf(b, `"mcp_server":"${name}"`, at)},"x"]`,
            )],
          ["client:get_skill", (name: string) =>
            around(
              `"error":${
                objectOf(
                  b,
                  `"code":4006,"message":"m","mcp_server":"${name}"`,
                  at,
                )
              }`,
            )],
        ] as const
      ) {
        check(event, write("my files"), write("my_files"));
      }
      // A server: its key and one field.
      const field = isOld ? "name" : "bundle_id";
      const servers = (key: string, more: string) =>
        around(`"servers":{"\\ud800":1,${key}:${objectOf(b, more, at)}}`);
      check(
        "client:get_config",
        servers('"my files"', `"${field}":"my_files"`),
        servers('"my_files"', `"${field}":"my_files"`),
      );
      // Nothing is named here.
      for (const event of ["client:tool_call", "client:get_desktop"] as const) {
        check(event, around('"isError":true'), around('"isError":true'));
      }
    }),
    { numRuns: 500 },
  );
});
