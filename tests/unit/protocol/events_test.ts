import { assert, assertEquals } from "@std/assert";
import {
  CLIENT_EVENTS,
  isClientEvent,
  isNotification,
  isServerEvent,
  NOTIFICATIONS,
  SERVER_EVENTS,
} from "../../../protocol/event_table.ts";
import * as events from "../../../protocol/events.ts";

/** The tables of the seeds, by the constants' names (spec §3, §11). */
const CONSTANTS: Readonly<Record<string, string>> = {
  TOOL_CALL_EVENT: "client:tool_call",
  GET_TOOLS_EVENT: "client:get_tools",
  GET_CONFIG_EVENT: "client:get_config",
  GET_DESKTOP_EVENT: "client:get_desktop",
  GET_RESOURCES_EVENT: "client:get_resources",
  GET_DPE_EVENT: "client:get_dpe",
  GET_FINDER_EVENT: "client:get_finder",
  GET_SKILLS_EVENT: "client:get_skills",
  GET_SKILL_EVENT: "client:get_skill",
  GET_BLOB_EVENT: "client:get_blob",
  PUT_BLOB_EVENT: "client:put_blob",
  READ_RESOURCE_EVENT: "client:read_resource",
  WATCH_RESOURCE_EVENT: "client:watch_resource",
  GET_PROMPTS_EVENT: "client:get_prompts",
  GET_PROMPT_EVENT: "client:get_prompt",
  JOIN_OFFICE_EVENT: "server:join_office",
  LEAVE_OFFICE_EVENT: "server:leave_office",
  LIST_ROOM_EVENT: "server:list_room",
  CANCEL_TOOL_CALL_EVENT: "server:tool_call_cancel",
  UPDATE_CONFIG_EVENT: "server:update_config",
  UPDATE_TOOL_LIST_EVENT: "server:update_tool_list",
  UPDATE_DESKTOP_EVENT: "server:update_desktop",
  UPDATE_FINDER_EVENT: "server:update_finder",
  UPDATE_SKILLS_EVENT: "server:update_skills",
  UPDATE_RESOURCES_EVENT: "server:update_resources",
  ENTER_OFFICE_NOTIFICATION: "notify:enter_office",
  LEAVE_OFFICE_NOTIFICATION: "notify:leave_office",
  UPDATE_CONFIG_NOTIFICATION: "notify:update_config",
  UPDATE_TOOL_LIST_NOTIFICATION: "notify:update_tool_list",
  UPDATE_DESKTOP_NOTIFICATION: "notify:update_desktop",
  UPDATE_FINDER_NOTIFICATION: "notify:update_finder",
  UPDATE_SKILLS_NOTIFICATION: "notify:update_skills",
  UPDATE_RESOURCES_NOTIFICATION: "notify:update_resources",
  CANCEL_TOOL_CALL_NOTIFICATION: "notify:tool_call_cancel",
  TOOL_CALL_PROGRESS_EVENT: "server:tool_call_progress",
  TOOL_CALL_PROGRESS_NOTIFICATION: "notify:tool_call_progress",
};

const named = (prefix: string): string[] =>
  Object.values(CONSTANTS).filter((name) => name.startsWith(prefix)).sort();

Deno.test("the event constants are those of the seeds' tables, no more and no less", () => {
  const exported = Object.fromEntries(
    Object.entries(events).filter(([name]) =>
      /_(EVENT|NOTIFICATION)$/.test(name)
    ),
  );
  assertEquals<unknown>(exported, CONSTANTS);
});

Deno.test("each table holds the events of its prefix", () => {
  assertEquals(Object.keys(CLIENT_EVENTS).sort(), named("client:"));
  assertEquals(Object.keys(SERVER_EVENTS).sort(), named("server:"));
  assertEquals(Object.keys(NOTIFICATIONS).sort(), named("notify:"));
});

Deno.test("every event has validators of its request, and of its answer where one is an object", () => {
  for (const [name, spec] of Object.entries(CLIENT_EVENTS)) {
    assertEquals(typeof spec.parseRequest, "function", name);
    assertEquals(typeof spec.parseAnswer, "function", name);
  }
  for (const [name, spec] of Object.entries(SERVER_EVENTS)) {
    assertEquals(typeof spec.parseRequest, "function", name);
    assertEquals(spec.parseAnswer !== undefined, spec.ack === "answer", name);
  }
  for (const [name, parse] of Object.entries(NOTIFICATIONS)) {
    assertEquals(typeof parse, "function", name);
  }
});

Deno.test("SERVER_EVENTS says who may send, how it is answered, and what the office hears", () => {
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
    "server:update_finder computer none notify:update_finder",
    "server:update_resources computer none notify:update_resources",
    "server:update_skills computer none notify:update_skills",
    "server:update_tool_list computer none notify:update_tool_list",
  ]);
});

Deno.test("isClientEvent(), isServerEvent() and isNotification() know the tables, and nothing of Object's own", () => {
  for (const name of Object.values(CONSTANTS)) {
    assertEquals(isClientEvent(name), name.startsWith("client:"), name);
    assertEquals(isServerEvent(name), name.startsWith("server:"), name);
    assertEquals(isNotification(name), name.startsWith("notify:"), name);
  }
  const unknown = [
    "",
    "client:",
    "client:later",
    "server:later",
    "notify:later",
    "toString",
    "constructor",
    "__proto__",
    "hasOwnProperty",
    "CLIENT:TOOL_CALL",
    " client:tool_call",
  ];
  for (const name of unknown) {
    assert(!isClientEvent(name), name);
    assert(!isServerEvent(name), name);
    assert(!isNotification(name), name);
  }
});

Deno.test("hasNotificationPrefix() knows what only the server may send, later versions' included", () => {
  for (const name of [...named("notify:"), "notify:later", "notify:"]) {
    assert(events.hasNotificationPrefix(name), name);
  }
  for (const name of [...named("client:"), ...named("server:"), "notify", ""]) {
    assert(!events.hasNotificationPrefix(name), name);
  }
});

Deno.test("notification validators take what the server sends, and name what is wrong", () => {
  const good: Record<string, object> = {
    "notify:enter_office": { office_id: "o", computer: "pc" },
    "notify:leave_office": { office_id: "o", agent: "a" },
    "notify:update_config": { computer: "pc" },
    "notify:update_tool_list": { computer: "pc" },
    "notify:update_desktop": { computer: "pc" },
    "notify:update_finder": { computer: "pc" },
    "notify:update_skills": { computer: "pc" },
    "notify:update_resources": { computer: "pc", mcp_server: "s", uri: "u" },
    "notify:tool_call_cancel": { agent: "a", req_id: "1" },
    "notify:tool_call_progress": {
      computer: "pc",
      agent: "a",
      req_id: "1",
      progress: 1,
    },
  };
  for (const [name, parse] of Object.entries(NOTIFICATIONS)) {
    const payload = { ...good[name], later: { field: 1 } };
    assertEquals<unknown>(parse(payload), payload, name);
  }
});
