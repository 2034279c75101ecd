import * as z from "../../../protocol/schema.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ProtocolError } from "../../../protocol/errors.ts";
import {
  CLIENT_EVENTS,
  NOTIFICATIONS,
  SERVER_EVENTS,
} from "../../../protocol/event_table.ts";
import { type Parser, parser } from "../../../protocol/validation.ts";

/** What a field may hold: a key of `GOOD` and `BAD` below; `?` at its end where the field is optional. */
type Kind = keyof typeof GOOD;
type Fields = Readonly<Record<string, Kind | `${Kind}?`>>;
type Payload = Record<string, unknown>;

const call: Fields = { agent: "member", req_id: "identifier" };
const routed: Fields = { ...call, computer: "member" };
const resource: Fields = { ...routed, mcp_server: "identifier", uri: "text" };
const update: Fields = { computer: "member" };

/** Spec §4, event by event. */
const REQUESTS: Readonly<Record<string, Fields>> = {
  "client:tool_call": {
    ...routed,
    tool_name: "identifier",
    params: "object",
    timeout: "timeout",
  },
  "client:get_tools": routed,
  "client:get_config": routed,
  "client:get_desktop": { ...routed, desktop_size: "size?", window: "text?" },
  "client:get_resources": {
    ...routed,
    mcp_server: "identifier",
    cursor: "cursor?",
  },
  "client:get_dpe": { ...routed, uri: "text", timeout: "timeout?" },
  "client:get_finder": {
    ...routed,
    keywords: "texts?",
    file_type: "text?",
    offset: "offset?",
    limit: "limit?",
  },
  "client:read_resource": { ...resource, timeout: "timeout?" },
  "client:watch_resource": { ...resource, watch: "flag" },
  "client:get_prompts": { ...routed, timeout: "timeout?" },
  "client:get_prompt": {
    ...routed,
    mcp_server: "identifier",
    name: "text",
    arguments: "words?",
    timeout: "timeout?",
  },
  "client:get_resource_templates": { ...routed, timeout: "timeout?" },
  "client:complete": {
    ...routed,
    mcp_server: "identifier",
    ref: "ref",
    argument: "argument",
    context: "context?",
    timeout: "timeout?",
  },
  "client:get_instructions": routed,
  "client:get_skills": routed,
  "client:get_skill": { ...routed, name: "identifier", rel_path: "path?" },
  "client:get_blob": {
    ...routed,
    blob_handle: "handle",
    chunk_offset: "integer?",
    max_chunk_bytes: "offset?",
  },
  "client:put_blob": {
    ...routed,
    upload_id: "identifier?",
    chunk_offset: "integer",
    eof: "flag",
    blob: "text",
  },
  "server:join_office": {
    role: "role",
    name: "office",
    office_id: "office",
    devices: "devices?",
  },
  "server:leave_office": { office_id: "office" },
  "server:list_room": { ...call, office_id: "office" },
  "server:tool_call_cancel": call,
  "server:tool_call_progress": {
    ...routed,
    progress: "number",
    total: "number?",
    message: "message?",
  },
  "server:update_config": update,
  "server:update_tool_list": update,
  "server:update_desktop": update,
  "server:update_finder": update,
  "server:update_skills": update,
  "server:update_resources": {
    ...update,
    mcp_server: "identifier?",
    uri: "text?",
  },
  "server:update_devices": { ...update, devices: "devices" },
};

const PARSERS: Readonly<Record<string, Parser<object>>> = Object.fromEntries(
  Object.entries({ ...CLIENT_EVENTS, ...SERVER_EVENTS })
    .map(([event, { parseRequest }]) => [event, parseRequest]),
);

/** U+0000–1F and 7F–9F, all 65 of them. */
const CONTROLS = [
  ...Array.from({ length: 0x20 }, (_, i) => i),
  ...Array.from({ length: 0x21 }, (_, i) => 0x7f + i),
].map((code) => String.fromCharCode(code));

/** 256 UTF-16 units, half as many characters. */
const LONGEST = "😀".repeat(128);

const NO_TEXT = [null, undefined, 0, 3, 1.5, true, [], ["a"], {}, { a: "b" }];
const NO_IDENTIFIER = [...NO_TEXT, "", "x".repeat(257), `${LONGEST}x`];
/** Texts that have no form in UTF-8: halves of surrogate pairs alone, and in the wrong order. */
const LONE = ["\ud800", "a\udfff", "\udc00b", "\udc00\ud800", "\ud83d😀"];
const NO_MEMBER = [...NO_IDENTIFIER, ...LONE];
const NO_INTEGER = [
  ...[null, undefined, "3", "", 1.5, NaN, Infinity, 2 ** 53, true, [3], {}, 3n],
];

const DEVICE = { id: "x".repeat(64), verifier: "A".repeat(43) };

const GOOD = {
  identifier: ["x", "x".repeat(256), LONGEST, "a\nb", "\u0000", "名", ...LONE],
  member: ["x", "x".repeat(256), LONGEST, "3", " ", "a\nb", "\u0000", "名"],
  office: ["x", "x".repeat(256), LONGEST, "3", " ", "a/b", "名前", "\u00a0"],
  role: ["agent", "computer"],
  object: [{}, { a: { b: [1, null] } }, { "": "" }],
  timeout: [1, 30, 3600, 2.0],
  limit: [1, 20, 100],
  offset: [0, 1, 2 ** 53 - 1],
  size: [-1, 0, 1, 2 ** 53 - 1],
  text: ["", "window://host/a", "x".repeat(10_000)],
  texts: [[], ["a"], ["", "b"]],
  cursor: [null, "", "page 2"],
  words: [{}, { city: "Paris", "": "" }],
  number: [0, -1, 0.5, 2 ** 60],
  message: ["", "step", "x".repeat(1000)],
  handle: ["x", "x".repeat(8192)],
  path: ["", "a/b.md", "x".repeat(4096), LONGEST.repeat(16)],
  flag: [true, false],
  ref: [
    { type: "ref/prompt", name: "p" },
    { type: "ref/resource", uri: "x:{y}", later: 1 },
  ],
  argument: [{ name: "a", value: "" }, { name: "", value: "b", later: 1 }],
  context: [{}, { arguments: {} }, { arguments: { a: "b" }, later: 1 }],
  integer: [0, -1, 2 ** 53 - 1],
  devices: [[], Array(9).fill(DEVICE), [{ id: "-", verifier: "_".repeat(43) }]],
} as const;

const BAD: Readonly<Record<Kind, readonly unknown[]>> = {
  identifier: NO_IDENTIFIER,
  member: NO_MEMBER,
  office: [...NO_MEMBER, ...CONTROLS, ...CONTROLS.map((c) => `a${c}b`)],
  role: [...NO_TEXT, "", "Agent", "server", "computer "],
  object: [null, undefined, "{}", 1, true, [], [{}], new Uint8Array(2)],
  timeout: [...NO_INTEGER, 0, -1, 3601],
  limit: [...NO_INTEGER, 0, -1, 101],
  offset: [...NO_INTEGER, -1],
  size: NO_INTEGER,
  text: NO_TEXT,
  texts: [null, undefined, "a", 1, {}, [1], ["a", null], [["a"]]],
  number: [null, undefined, "3", NaN, Infinity, true, [3], {}],
  message: [...NO_TEXT, "x".repeat(1001)],
  handle: [...NO_TEXT, "", "x".repeat(8193)],
  path: [...NO_TEXT, "x".repeat(4097)],
  flag: [null, undefined, 0, 1, "true", "", {}],
  ref: [
    ...[null, undefined, "ref/prompt", [], {}, { type: "ref/prompt" }],
    ...[{ type: "ref/prompt", uri: "x" }, { type: "later", name: "p" }],
    { type: "ref/resource", uri: 1 },
  ],
  argument: [null, undefined, "a", [], {}, { name: "a" }, {
    name: "a",
    value: 1,
  }],
  context: [null, undefined, "a", [], { arguments: { a: 1 } }],
  integer: NO_INTEGER,
  devices: [
    ...[null, undefined, "a", 1, {}, [null], [{}], [["a"]]],
    [Array(10).fill(DEVICE)],
    ...["", "x".repeat(65), "a b", "é", 1].map((id) => [{ ...DEVICE, id }]),
    ...["", "A".repeat(42), "A".repeat(44), `${"A".repeat(42)}=`, 1].map(
      (verifier) => [{ ...DEVICE, verifier }],
    ),
  ],
  cursor: NO_TEXT.filter((value) => value !== null),
  words: [null, undefined, "a", 1, [], { a: 1 }, { a: null }, { a: ["b"] }],
};

/** Every event with its parser, its fields, and a payload that holds a good value in every field. */
const cases = Object.entries(REQUESTS).map(([event, described]) => {
  const fields = Object.entries(described).map(([name, kind]) => ({
    name,
    kind: kind.replace("?", "") as Kind,
    isOptional: kind.endsWith("?"),
  }));
  const payload: Payload = Object.fromEntries(
    fields.map(({ name, kind }) => [name, GOOD[kind][0]]),
  );
  return { event, fields, payload, parse: PARSERS[event]! };
});

/** What was written in a test's failure message; `JSON` knows neither bigint nor undefined. */
const show = (event: string, name: string, value: unknown): string =>
  `${event} ${name} = ${Deno.inspect(value, { strAbbreviateSize: 40 })}`;

/** Asserts that it is refused as 400 that names the field in words and in data. */
function assertNames(
  parse: Parser<object>,
  payload: unknown,
  name: string,
  at: string,
): void {
  const error = assertThrows(() => parse(payload), ProtocolError, "", at);
  assertEquals(error.code, 400, at);
  assert(error.message.startsWith("Invalid payload: "), at);
  assert(
    error.message.includes(`${name}: `) || error.message.includes(`${name}.`),
    `${at}: ${error.message}`,
  );
  const named = error.details?.fields;
  assert(Array.isArray(named), at);
  assert(
    named.every((field) => field === name || `${field}`.startsWith(`${name}.`)),
    `${at}: ${named}`,
  );
}

Deno.test("every event of the table has a description here, and the reverse", () => {
  assertEquals(Object.keys(REQUESTS).sort(), Object.keys(PARSERS).sort());
});

Deno.test("request validators accept each field at its limits, and change nothing", () => {
  for (const { event, fields, payload, parse } of cases) {
    for (const { name, kind } of fields) {
      for (const value of GOOD[kind]) {
        const sent = { ...payload, [name]: value };
        assertEquals<unknown>(parse(sent), sent, show(event, name, value));
      }
    }
  }
});

Deno.test("request validators refuse each field when it is wrong, and name it", () => {
  for (const { event, fields, payload, parse } of cases) {
    for (const { name, kind } of fields) {
      for (const value of BAD[kind]) {
        const sent = { ...payload, [name]: value };
        assertNames(parse, sent, name, show(event, name, value));
      }
    }
  }
});

Deno.test("request validators refuse a payload without a required field, and name it", () => {
  for (const { event, fields, payload, parse } of cases) {
    for (const { name, isOptional } of fields) {
      const { [name]: _, ...sent } = payload;
      const at = `${event} without ${name}`;
      if (isOptional) assertEquals<unknown>(parse(sent), sent, at);
      else assertNames(parse, sent, name, at);
    }
  }
});

Deno.test("request validators refuse everything that is no object", () => {
  const payloads = [undefined, null, "", "{}", 0, true, [], [{}], () => {}];
  for (const { event, parse } of cases) {
    for (const payload of payloads) {
      assertNames(parse, payload, "payload", show(event, "payload", payload));
    }
  }
});

Deno.test("request validators let unknown fields pass untouched", () => {
  const later = { trace: { id: [1, { deep: null }] }, "": 0, "odd key": "x" };
  for (const { event, payload, parse } of cases) {
    const sent = { ...payload, ...later };
    assertEquals<unknown>(parse(sent), sent, event);
  }
});

Deno.test("request validators name every failing field", () => {
  for (const { event, fields, parse } of cases) {
    const required = fields.filter(({ isOptional }) => !isOptional)
      .map(({ name }) => name);
    const error = assertThrows(() => parse({}), ProtocolError, "", event);
    assertEquals(error.details, { fields: required }, event);
    for (const name of required) {
      assert(error.message.includes(`${name}: `), `${event}: ${error.message}`);
    }
  }
});

Deno.test("a tool's params pass as they are, whatever their names", () => {
  const { payload, parse } = cases[0]!;
  const params = JSON.parse(
    '{"z":1,"__proto__":{"polluted":true},"a":{"constructor":2},"1":0}',
  );
  const { params: passed } = parse({ ...payload, params }) as Payload;
  assertEquals(JSON.stringify(passed), JSON.stringify(params));
  assertEquals({ ...payload }.polluted, undefined);
});

Deno.test("parser() names the first ten invalid fields", () => {
  const names = Array.from({ length: 11 }, (_, at) => `f${at}`);
  const shape = Object.fromEntries(names.map((name) => [name, z.string()]));
  const error = assertThrows(() => parser(z.object(shape))({}), ProtocolError);
  assertEquals(error.details, { fields: names.slice(0, 10) });
});

Deno.test("a hostile payload with a million failing items costs one short answer", () => {
  const { payload, parse } = cases.find(({ event }) =>
    event === "client:get_finder"
  )!;
  const keywords = new Array(1_000_000).fill(1);
  const error = assertThrows(
    () => parse({ ...payload, keywords }),
    ProtocolError,
  );
  assertEquals(error.details, { fields: ["keywords.0"] });
  assert(error.message.length < 200, error.message);
});

Deno.test("validators of fire-and-forget updates and cancels are those of their notifications", () => {
  for (const event of Object.keys(REQUESTS)) {
    const name = event.replace("server:", "notify:");
    if (!/update_(?!devices)|cancel|progress/.test(event)) continue;
    const parse: Parser<object> = NOTIFICATIONS[
      name as keyof typeof NOTIFICATIONS
    ];
    assertEquals<unknown>(parse, PARSERS[event], name);
  }
});
