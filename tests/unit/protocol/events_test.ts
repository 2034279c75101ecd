import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ProtocolError } from "../../../protocol/errors.ts";
import {
  CLIENT_EVENTS,
  isClientEvent,
  isNotification,
  isServerEvent,
  NOTIFICATIONS,
  SERVER_EVENTS,
} from "../../../protocol/event_table.ts";
import * as events from "../../../protocol/events.ts";
import { isOfficeName } from "../../../protocol/names.ts";
import {
  parseRole,
  readOfficeAck,
} from "../../../protocol/payloads/offices.ts";
import { hasNotificationPrefix } from "../../../protocol/profiles.ts";
import { parseDuration } from "../../../protocol/validation.ts";

const UPDATES = [
  ...["update_config", "update_tool_list", "update_desktop"],
  ...["update_finder", "update_skills", "update_resources"],
];
const TOOL_CALLS = ["tool_call_cancel", "tool_call_progress"];

/** The tables of the seeds (protocol §3, §11), by prefix. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  client: [
    ...["tool_call", "get_tools", "get_config", "get_desktop", "get_finder"],
    ...["get_resources", "read_resource", "watch_resource", "get_dpe"],
    ...["get_prompts", "get_prompt", "get_skills", "get_skill"],
    ...["get_resource_templates", "complete", "get_instructions"],
    ...["get_blob", "put_blob"],
  ],
  server: [
    ...["join_office", "leave_office", "list_room", "update_devices"],
    ...UPDATES,
    ...TOOL_CALLS,
  ],
  notify: ["enter_office", "leave_office", ...UPDATES, ...TOOL_CALLS],
};

const named = (prefix: string) =>
  (NAMES[prefix] ?? []).map((name) => `${prefix}:${name}`).sort();
const ALL = Object.keys(NAMES).flatMap(named);

Deno.test("the event constants are those of the seeds' tables, no more and no less", () => {
  const constantOf = (event: string) => {
    const [prefix, name = ""] = event.split(":");
    const word = name === "tool_call_cancel" ? "cancel_tool_call" : name;
    const kind = prefix === "notify" ? "NOTIFICATION" : "EVENT";
    return `${word.toUpperCase()}_${kind}`;
  };
  const exported = Object.entries(events)
    .filter(([name]) => /_(EVENT|NOTIFICATION)$/.test(name));
  const all = [...ALL, "client:device"]; // of no client, and in no table
  assertEquals<unknown>(
    Object.fromEntries(exported),
    Object.fromEntries(all.map((event) => [constantOf(event), event])),
  );
});

Deno.test("each table holds the events of its prefix", () => {
  assertEquals(Object.keys(CLIENT_EVENTS).sort(), named("client"));
  assertEquals(Object.keys(SERVER_EVENTS).sort(), named("server"));
  assertEquals(Object.keys(NOTIFICATIONS).sort(), named("notify"));
});

Deno.test("every event has validators of its request, and of its answer where one is an object", () => {
  for (const [name, spec] of Object.entries(CLIENT_EVENTS)) {
    const { parseRequest, parseAnswer } = spec;
    const types = [typeof parseRequest, typeof parseAnswer];
    assertEquals(types, ["function", "function"], name);
  }
  for (const [name, spec] of Object.entries(SERVER_EVENTS)) {
    assertEquals(typeof spec.parseRequest, "function", name);
    assertEquals(spec.parseAnswer !== undefined, spec.ack === "answer", name);
  }
});

Deno.test("SERVER_EVENTS says who may send, how it is answered, and which notification it causes", () => {
  const rows = Object.entries(SERVER_EVENTS).map(
    ([name, { from, ack, notification }]) =>
      [name, from, ack, notification ?? ""].join(" "),
  );
  assertEquals(rows.sort(), [
    "server:join_office both office notify:enter_office",
    "server:leave_office both office notify:leave_office",
    "server:list_room agent answer ",
    "server:tool_call_cancel agent none notify:tool_call_cancel",
    "server:tool_call_progress computer none ",
    "server:update_config computer none notify:update_config",
    "server:update_desktop computer none notify:update_desktop",
    "server:update_devices computer answer ",
    "server:update_finder computer none notify:update_finder",
    "server:update_resources computer none notify:update_resources",
    "server:update_skills computer none notify:update_skills",
    "server:update_tool_list computer none notify:update_tool_list",
  ]);
});

Deno.test("isClientEvent(), isServerEvent() and isNotification() know the tables, and nothing of Object's own", () => {
  const unknown = [
    ...["", "client:", "client:later", "server:later", "notify:later"],
    ...["toString", "constructor", "__proto__", "hasOwnProperty"],
    ...["CLIENT:TOOL_CALL", " client:tool_call", "client:device"],
  ];
  for (const name of [...ALL, ...unknown]) {
    const prefix = ALL.includes(name) ? name.split(":")[0] : undefined;
    assertEquals(isClientEvent(name), prefix === "client", name);
    assertEquals(isServerEvent(name), prefix === "server", name);
    assertEquals(isNotification(name), prefix === "notify", name);
  }
});

Deno.test("hasNotificationPrefix() finds what only the server may send, later versions' included", () => {
  for (const name of [...ALL, "notify:later", "notify:", "notify", ""]) {
    const isNotification = name.startsWith("notify:");
    assertEquals(hasNotificationPrefix(name), isNotification, name);
  }
});

Deno.test("notification validators take what the server sends, and name what is wrong", () => {
  const call = { agent: "a", req_id: "1" };
  const good: Record<string, object> = {
    "notify:enter_office": { office_id: "o", computer: "pc" },
    "notify:leave_office": { office_id: "o", agent: "a" },
    "notify:update_resources": { computer: "pc", mcp_server: "s", uri: "u" },
    "notify:tool_call_cancel": call,
    "notify:tool_call_progress": { ...call, computer: "pc", progress: 1 },
  };
  for (const [name, parse] of Object.entries(NOTIFICATIONS)) {
    const sent = { ...good[name] ?? { computer: "pc" }, later: { field: 1 } };
    assertEquals<unknown>(parse(sent), sent, name);
    assertThrows(() => parse({}), ProtocolError, ": ", name);
  }
});

Deno.test("readOfficeAck() reads two arguments and one two-element array alike", () => {
  const full = "Room already has an agent";
  const rows: [sent: unknown[], read: [boolean, string | null]][] = [
    [[true, null], [true, null]],
    [[true], [true, null]],
    [[true, "joined"], [true, null]],
    [[true, null, "more"], [true, null]],
    [[false, full], [false, full]],
  ];
  for (const [sent, read] of rows) {
    assertEquals<unknown>(readOfficeAck(sent), read);
    assertEquals<unknown>(readOfficeAck([sent]), read);
  }
});

Deno.test("readOfficeAck() never takes an error object for success", () => {
  const rows: [sent: unknown[], reason: string][] = [
    [[{ code: 400, message: "Invalid payload" }], "Invalid payload"],
    [[{ code: 500, message: "broken" }, null], "broken"],
    [[{ error: { code: 404, message: "nested" } }], "nested"],
    ...[
      ...[[{ code: 500 }], [{ ok: true }], [], [null], [undefined, undefined]],
      ...[[[]], [[[true, null]]], ["true"], [1, null], [false], [false, null]],
      [false, { message: 1 }],
    ].map((sent): [unknown[], string] => [sent, "refused without a reason"]),
  ];
  for (const [sent, reason] of rows) {
    assertEquals(readOfficeAck(sent), [false, reason], JSON.stringify(sent));
  }
});

Deno.test("parseRole() takes agent and computer, and refuses all else", () => {
  assertEquals(["agent", "computer"].map(parseRole), ["agent", "computer"]);
  for (const role of [undefined, null, "", "Agent", "server", 1, ["agent"]]) {
    assertEquals(assertThrows(() => parseRole(role), ProtocolError).code, 400);
  }
});

Deno.test("isOfficeName() takes 1 to 256 UTF-16 units without control characters and lone surrogates", () => {
  for (const name of ["a", "家 1", "x".repeat(256), "😀".repeat(128)]) {
    assertEquals(isOfficeName(name), true, name);
  }
  const control = ["a\u0000", "\n", "\u001f", "\u007f", "\u009f"];
  const long = ["x".repeat(257), "😀".repeat(129)];
  const lone = ["\ud800", "a\udfff", "\udc00b", "\udc00\ud800"];
  for (
    const data of ["", ...control, ...long, ...lone, 1, null, undefined, ["a"]]
  ) {
    assertEquals(isOfficeName(data), false, String(data));
  }
});

Deno.test("parseDuration() reads ISO 8601 durations into seconds", () => {
  const rows: [text: string, seconds: number][] = [
    ["PT30S", 30],
    ["PT0S", 0],
    ["PT5M", 300],
    ["PT1H", 3600],
    ["P1D", 86_400],
    ["P2W", 1_209_600],
    ["PT1H30M", 5400],
    ["PT0.5S", 0.5],
    ["PT1.5M", 90],
    ["PT300S", 300],
  ];
  for (const [text, seconds] of rows) {
    assertEquals(parseDuration(text), seconds, text);
  }
  const count = fc.integer({ min: 0, max: 10_000 });
  fc.assert(
    fc.property(count, count, count, count, (d, h, m, s) => {
      assertEquals(
        parseDuration(`P${d}DT${h}H${m}M${s}S`),
        ((d * 24 + h) * 60 + m) * 60 + s,
      );
    }),
  );
});

Deno.test("parseDuration() refuses anything else and shows the form", () => {
  const texts = [
    ...["", "P", "PT", "P1DT", "30", "30s", "PT30", "pt30s", "PT30S "],
    ...[" PT30S", "-PT30S", "PT-30S", "PT1S1M", "P1Y", "P1M", "P1W2D"],
    ...["PT.5S", "PT1.S", "PT1e3S", "0:00:30"],
  ];
  for (const text of texts) {
    assertThrows(() => parseDuration(text), TypeError, '"PT30S"', text);
  }
});
