import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { pollingUrl } from "../support/wire/raw_polling.ts";
import { rawHttp, upgradeHead } from "../support/wire/raw_http.ts";
import {
  RawWebSocket,
  webSocketTarget,
} from "../support/wire/raw_websocket.ts";
import { onEachEngine } from "../support/server/wire_server.ts";

/** The open packet, without its id. */
const openPacket = (text: string): Record<string, unknown> => {
  assertEquals(text[0], "0");
  const { sid, ...rest } = JSON.parse(text.slice(1));
  assertMatch(sid, /^[\w-]{20}$/);
  return rest;
};

const ANNOUNCED = {
  pingInterval: 25_000,
  pingTimeout: 20_000,
  maxPayload: 8 * 2 ** 20,
};

onEachEngine(
  "a session opens over polling, and offers an upgrade",
  async (start) => {
    await using server = await start();
    const response = await fetch(pollingUrl(server.url));
    assertEquals(response.status, 200);
    assertMatch(response.headers.get("content-type") ?? "", /^text\/plain/);
    assertEquals(openPacket(await response.text()), {
      ...ANNOUNCED,
      upgrades: ["websocket"],
    });
  },
);

onEachEngine(
  "a session opens over a WebSocket, and offers no upgrade",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.open(server.port);
    assertEquals(openPacket(await raw.text("0")), {
      ...ANNOUNCED,
      upgrades: [],
    });
  },
);

onEachEngine("two sessions have different ids", async (start) => {
  await using server = await start();
  const open = async () => await (await fetch(pollingUrl(server.url))).text();
  const [first, second] = await Promise.all([open(), open()]);
  assertEquals(first === second, false);
});

/** Invalid queries, with Engine.IO's error code. */
const REFUSED: [query: string, code: number][] = [
  ["transport=polling&a2c_version=0.2.0", 5],
  ["EIO=abc&transport=polling&a2c_version=0.2.0", 5],
  ["EIO=3&transport=polling&a2c_version=0.2.0", 5],
  ["EIO=4&a2c_version=0.2.0", 0],
  ["EIO=4&transport=abc&a2c_version=0.2.0", 0],
  ["EIO=4&transport=webtransport&a2c_version=0.2.0", 0],
  ["EIO=4&transport=polling&sid=abc&a2c_version=0.2.0", 1],
  ["EIO=4&transport=polling&sid=__proto__&a2c_version=0.2.0", 1],
  ["EIO=4&transport=websocket&a2c_version=0.2.0", 3],
  ["EIO=4&transport=polling", 400],
  ["EIO=4&transport=polling&a2c_version=1.0.0", 4008],
];

onEachEngine(
  "an invalid query is answered with 400 over polling",
  async (start) => {
    await using server = await start();
    for (const [query, code] of REFUSED) {
      const response = await fetch(`${server.url}/smcp/?${query}`);
      const body = await response.json();
      assertEquals([response.status, body.code], [400, code], query);
    }
  },
);

onEachEngine("a session is opened only by GET", async (start) => {
  await using server = await start();
  for (const method of ["POST", "PUT", "DELETE"]) {
    const response = await fetch(pollingUrl(server.url), { method });
    await response.body?.cancel();
    assertEquals(response.status >= 400, true, method);
  }
});

onEachEngine(
  "an invalid upgrade is refused, or its WebSocket closed immediately",
  async (start) => {
    await using server = await start();
    for (
      const target of [
        "/smcp/?transport=websocket&a2c_version=0.2.0",
        "/smcp/?EIO=abc&transport=websocket&a2c_version=0.2.0",
        "/smcp/?EIO=4&transport=abc&a2c_version=0.2.0",
        "/smcp/?EIO=4&a2c_version=0.2.0",
        webSocketTarget("&sid=abc"),
        "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0",
      ]
    ) {
      const open = async () => {
        await using raw = await RawWebSocket.open(server.port, { target });
        await raw.text("0");
      };
      await assertRejects(open, Error, undefined, target);
    }
  },
);

onEachEngine(
  "the version gate answers an upgrade like polling",
  async (start) => {
    await using server = await start();
    const queries: [query: string, code: number][] = [
      ["", 400],
      ["&a2c_version=1.0.0", 4008],
      ["&a2c_version=0.2.0&a2c_version=x", 400],
    ];
    for (const [query, code] of queries) {
      const target = `/smcp/?EIO=4&transport=websocket${query}`;
      const { status, body } = await rawHttp(server.port, upgradeHead(target));
      assertEquals([status, JSON.parse(body).code], [400, code], query);
    }
  },
);
