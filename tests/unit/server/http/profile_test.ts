import { assertEquals } from "@std/assert";
import {
  CLIENT_EVENTS,
  eventOf,
  GET_CONFIG_EVENT,
  GET_TOOLS_EVENT,
  namesOf,
  NOTIFICATIONS,
  PROFILES,
  SERVER_EVENTS,
  UPDATE_CONFIG_EVENT,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_DESKTOP_EVENT,
  UPDATE_DESKTOP_NOTIFICATION,
} from "../../../../protocol/mod.ts";
import { checkGate } from "../../../../server/http/gate.ts";

const OLD = PROFILES["0.1"];
const NEW = PROFILES["0.2"];

const isClient = (event: string): event is keyof typeof CLIENT_EVENTS =>
  event in CLIENT_EVENTS;

Deno.test("eventOf() maps the names of seed 002 to current ones, only in profile 0.1 (spec §12)", () => {
  const names = {
    "client:get_mcp_config": GET_CONFIG_EVENT,
    "server:update_mcp_config": UPDATE_CONFIG_EVENT,
    "server:desktop_refresh": UPDATE_DESKTOP_EVENT,
  };
  for (const [older, event] of Object.entries(names)) {
    assertEquals(eventOf(OLD, older), event);
    assertEquals(eventOf(OLD, event), event);
    assertEquals(eventOf(NEW, older), undefined);
  }
});

Deno.test("eventOf() accepts no notification and no property name of Object", () => {
  const strangers = [
    "notify:update_mcp_config",
    UPDATE_CONFIG_NOTIFICATION,
    "toString",
    "client:nothing",
    "",
  ];
  for (const profile of [OLD, NEW]) {
    for (const name of strangers) {
      assertEquals(eventOf(profile, name), undefined, name);
    }
  }
});

Deno.test("eventOf() lacks in profile 0.1 exactly what came with 0.2 and later (spec §12)", () => {
  const requests = [
    ...Object.keys(CLIENT_EVENTS),
    ...Object.keys(SERVER_EVENTS),
  ];
  assertEquals(
    requests.filter((name) => eventOf(OLD, name) === undefined),
    [
      "client:get_resources",
      "client:get_dpe",
      "client:get_finder",
      "client:get_skills",
      "client:get_skill",
      "client:get_blob",
      "client:put_blob",
      // Extensions of this package.
      "client:read_resource",
      "client:watch_resource",
      "client:get_prompts",
      "client:get_prompt",
      "server:tool_call_progress",
      "server:update_finder",
      "server:update_skills",
      "server:update_resources",
    ],
  );
});

Deno.test("each version from 0.2 on knows skills and blobs, 0.4 uploads (0.4 §5, §16)", () => {
  const requests = [
    ...Object.keys(CLIENT_EVENTS),
    ...Object.keys(SERVER_EVENTS),
  ];
  for (const version of ["0.2", "0.3", "0.4"] as const) {
    assertEquals(
      requests.filter((name) => eventOf(PROFILES[version], name) === undefined),
      version === "0.4" ? [] : ["client:put_blob"],
      version,
    );
  }
});

Deno.test("the versions are those that released SDKs send (0.4 §1.1)", () => {
  assertEquals(
    Object.values(PROFILES).map(({ version }) => version).sort(),
    ["0.1.2", "0.2.0", "0.3.1", "0.4.0"],
  );
});

Deno.test("namesOf() returns both names in profile 0.1, the current one first (spec §12)", () => {
  assertEquals(namesOf(OLD, GET_CONFIG_EVENT), [
    GET_CONFIG_EVENT,
    "client:get_mcp_config",
  ]);
  assertEquals(namesOf(OLD, UPDATE_CONFIG_NOTIFICATION), [
    UPDATE_CONFIG_NOTIFICATION,
    "notify:update_mcp_config",
  ]);
  assertEquals(namesOf(OLD, UPDATE_DESKTOP_NOTIFICATION), [
    UPDATE_DESKTOP_NOTIFICATION,
    "notify:desktop_refresh",
  ]);
  assertEquals(namesOf(OLD, GET_TOOLS_EVENT), [GET_TOOLS_EVENT]);
  for (const event of Object.keys(CLIENT_EVENTS).filter(isClient)) {
    assertEquals(namesOf(NEW, event), [event]);
  }
  assertEquals(
    Object.keys(NOTIFICATIONS).filter((name) => name in NEW.olderNames),
    [],
  );
});

Deno.test("checkGate() of profile 0.1 requires no version, and accepts 0.1.x if one is sent (spec §12)", () => {
  for (const query of ["EIO=4", "a2c_version=0.1.0", "a2c_version=0.1.999"]) {
    assertEquals(checkGate(query, OLD), undefined, query);
  }
  assertEquals(checkGate("a2c_version=0.2.0", OLD), {
    status: 400,
    headers: {
      "Content-Type": "application/json",
      "X-A2C-Error-Code": "4008",
    },
    body:
      '{"code":4008,"message":"Protocol version mismatch","server_version":"0.1.2","client_version":"0.2.0","min_supported":"0.1.0","max_supported":"0.1.999"}',
  });
  for (const sent of ["", "abc", "0.1", "0.1.0&a2c_version=0.1.0"]) {
    const { body = "{}" } = checkGate(`a2c_version=${sent}`, OLD) ?? {};
    assertEquals(JSON.parse(body).code, 400, sent);
  }
});
