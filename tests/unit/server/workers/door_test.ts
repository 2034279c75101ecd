import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { resolveOptions } from "../../../../server/options.ts";
import {
  type DoorRules,
  frontOf,
  frontOfSession,
  LINK_PATH,
  METRICS_PATH,
  wayOf,
} from "../../../../server/workers/door.ts";
import { mcpGateway } from "../../../../mcp/mod.ts";

const FRONTS = 3;

const rulesOf = (
  options: Parameters<typeof resolveOptions>[0] = {},
): DoorRules => ({ ...resolveOptions(options), fronts: FRONTS });

/** Returns where a request goes; a refusal as its status and code. */
function go(
  target: string,
  headers: Readonly<Record<string, string>> = {},
  rules = rulesOf({ gateway: mcpGateway() }),
  method = "GET",
) {
  const way = wayOf(
    {
      url: `https://smcp.example${target}`,
      headers: new Headers({ Host: "smcp.example", ...headers }),
      method,
      continent: "EU",
    },
    rules,
    0.5,
  );
  if (!("refused" in way)) return way;
  return [way.refused.status, JSON.parse(way.refused.body).code];
}

const HANDSHAKE = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0";

Deno.test("wayOf() sends a handshake to a front of its continent, and a session to the front that its id names", () => {
  assertEquals(go(HANDSHAKE), { front: "eu-1" });
  assertEquals(go(`${HANDSHAKE}&sid=sa-2.xyz`), { front: "sa-2" });
  assertEquals(
    go(`${HANDSHAKE}&sid=sa-0.x&sid=as-2.y`),
    { front: "as-2" },
    "Engine.IO takes the last",
  );
});

Deno.test("wayOf() answers hostile ids of sessions as Engine.IO answers unknown ones", () => {
  for (
    const sid of [
      "x",
      ".x",
      "eu.x",
      "eu-.x",
      "eu-3.x",
      "eu-03.x",
      "eu--1.x",
      "eu-1e0.x",
      "EU-1.x",
      "zz-1.x",
      "eu-1 .x",
      "eu-99999999999999999999.x",
      "registry.x",
      "office:home.x",
      "eu-1/../eu-2.x",
      "a".repeat(5000) + ".x",
      "eu-1\u0000.x",
      "__proto__.x",
      "single.x",
    ]
  ) {
    const way = go(`${HANDSHAKE}&sid=${encodeURIComponent(sid)}`);
    assertEquals(way, { answer: "unknown session" }, sid);
  }
});

Deno.test("no id of a session names an object but one of the fronts", () => {
  const exist = new Set(["af", "an", "as", "eu", "na", "oc", "sa", "xx"]
    .flatMap((place) => [0, 1, 2].map((n) => `${place}-${n}`)));
  fc.assert(fc.property(
    fc.oneof(fc.string(), fc.stringMatching(/^[a-z]{2}-\d{1,3}\..*$/)),
    (sid) => {
      const front = frontOfSession(sid, FRONTS);
      assert(front === undefined || exist.has(front), sid);
    },
  ));
  for (const continent of ["EU", "na", "T1", "", undefined, "__proto__"]) {
    for (const random of [0, 0.4, 0.999999]) {
      const front = frontOf(continent, FRONTS, random);
      assert(exist.has(front), front);
      assertEquals(frontOfSession(`${front}.abc`, FRONTS), front);
    }
  }
});

Deno.test("wayOf() refuses by version, origin, transport and host before any object", () => {
  assertEquals(go("/smcp/?EIO=4&a2c_version=9.0.0"), [400, 4008]);
  assertEquals(go(`${HANDSHAKE}&j=1`), [400, 400]);
  assertEquals(go(HANDSHAKE, { Origin: "https://evil.example" }), [403, 403]);
  const hosts = rulesOf({ hosts: ["other.example"] });
  for (
    const path of [HANDSHAKE, "/health", "/operator/v1/status", "/console"]
  ) {
    assertEquals(go(path, {}, hosts), [403, 403], path);
  }
  const origins = rulesOf({ origins: ["https://app.example"] });
  assertEquals(go(HANDSHAKE, { Origin: "https://app.example" }, origins), {
    front: "eu-1",
  });
});

Deno.test("wayOf() lets a front answer preflight requests of pages, whatever the version", () => {
  for (const path of ["/health", "/smcp/", "/socket.io"]) {
    assertEquals(go(path, {}, rulesOf(), "OPTIONS"), { front: "eu-1" }, path);
  }
});

Deno.test("wayOf() sends operators to the registry, and lets the Worker say how it is", () => {
  for (
    const path of [
      "/operator/v1/status",
      "/console",
      "/console/page.js",
      "/metrics",
    ]
  ) {
    assertEquals(go(path), { object: "registry" }, path);
  }
  assertEquals(go("/health"), { answer: "health" });
  assertEquals(go("/ready"), { answer: "ready" });
  for (
    const path of [
      "/",
      "/operator",
      "/operator/v2/status",
      "/consoles",
      "/favicon.ico",
      "/a/b/c",
    ]
  ) {
    assertEquals(go(path), [404, 404], path);
  }
});

Deno.test("wayOf() sends requests of a gateway to their office, and odd names to nobody's", () => {
  assertEquals(go("/mcp/home"), { office: "home" });
  assertEquals(go("/mcp/caf%C3%A9%20%2Fx?y=1"), { office: "café /x" });
  assertEquals(go("/mcp/%E0%A4"), { office: "" });
  assertEquals(go("/mcp/%00"), { office: "" });
  assertEquals(go("/.well-known/oauth-protected-resource/mcp/home"), {
    office: "",
  });
  assertEquals(go("/mcp/home", {}, rulesOf()), [404, 404], "without a gateway");
});

Deno.test("wayOf() lets no client use the paths that objects have for each other", () => {
  assertEquals(go(LINK_PATH), [404, 404]);
  assertEquals(go(`${LINK_PATH}?registry`), [404, 404]);
  assertEquals(go(METRICS_PATH), [404, 404]);
  const rules = rulesOf({ paths: [LINK_PATH], gateway: mcpGateway() });
  assertEquals(go(`${LINK_PATH}?EIO=4&a2c_version=0.2.0`, {}, rules), [
    404,
    404,
  ]);
});
