/**
 * Sessions as Engine.IO has them, byte by byte, on both engines: opened, polled, upgraded, pinged, closed.
 *
 * @module
 */
import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { createSmcpServer } from "../../server/mod.ts";
import { LEAVES_TIMER, onEachEngine } from "../support/server/wire_server.ts";
import { rawHttp, upgradeHead } from "../support/wire/raw_http.ts";
import { pollingUrl, RawPolling } from "../support/wire/raw_polling.ts";
import {
  RawWebSocket,
  webSocketTarget,
} from "../support/wire/raw_websocket.ts";

const list = (id: number) => `42/smcp,${id}["server:list_room",{}]`;

/** An answer, with the headers that Engine.IO sets. */
async function ask(url: string, init?: RequestInit) {
  const response = await fetch(url, init);
  const { status, headers } = response;
  const type = headers.get("content-type");
  return [status, type, headers.get("cache-control"), await response.text()];
}

/** Polls until a session is refused. */
async function assertEnds(raw: RawPolling): Promise<void> {
  let last = await raw.get();
  for (let i = 0; i < 3 && last.status === 200; i++) last = await raw.get();
  assertEquals(last.status, 400);
}

onEachEngine(
  "a session opens with an id of its own, and offers an upgrade over polling alone",
  async ({ url, port }) => {
    await using raw = await RawWebSocket.open(port);
    const packets = [
      await (await fetch(pollingUrl(url))).text(),
      await (await fetch(pollingUrl(url))).text(),
      await raw.text("0"),
    ];
    const ids = packets.map((packet, i) => {
      assertEquals(packet[0], "0");
      const { sid, ...rest } = JSON.parse(packet.slice(1));
      assertEquals(rest, {
        pingInterval: 25_000,
        pingTimeout: 20_000,
        maxPayload: 8 * 2 ** 20,
        upgrades: i < 2 ? ["websocket"] : [],
      });
      assertMatch(sid, /^[\w-]{20}$/);
      return sid;
    });
    assertEquals(new Set(ids).size, 3);
  },
);

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
  "an invalid query is answered with 400 and its code, another method than GET refused",
  async ({ url, port }) => {
    for (const [query, code] of REFUSED) {
      const response = await fetch(`${url}/smcp/?${query}`);
      const body = await response.json();
      assertEquals([response.status, body.code], [400, code], query);
    }
    // The version gate answers an upgrade as it answers polling.
    for (
      const [query, code] of [
        ["", 400],
        ["&a2c_version=1.0.0", 4008],
        ["&a2c_version=0.2.0&a2c_version=x", 400],
      ]
    ) {
      const head = upgradeHead(`/smcp/?EIO=4&transport=websocket${query}`);
      const { status, body } = await rawHttp(port, head);
      assertEquals([status, JSON.parse(body).code], [400, code], `${query}`);
    }
    for (const method of ["POST", "PUT", "DELETE"]) {
      const [status] = await ask(pollingUrl(url), { method });
      assertEquals(Number(status) >= 400, true, method);
    }
  },
);

onEachEngine(
  "an invalid upgrade is refused, or its WebSocket closed immediately",
  async ({ port }) => {
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
      await assertRejects(
        async () => {
          await using raw = await RawWebSocket.open(port, { target });
          await raw.text("0");
        },
        Error,
        undefined,
        target,
      );
    }
  },
);

onEachEngine(
  "requests over polling have the answers of Engine.IO, with their types",
  async ({ url: base }) => {
    const { sid } = await RawPolling.open(base);
    const url = pollingUrl(base, `&sid=${sid}`);
    const text = ["text/plain; charset=UTF-8", "no-store"];
    const post = (body: string) => ask(url, { method: "POST", body });
    assertEquals(await post("40/smcp,"), [200, "text/html", "no-store", "ok"]);
    const [status, type, cache, body] = await ask(url);
    assertEquals([status, type, cache], [200, ...text]);
    assertMatch(String(body), /^40\/smcp,\{"sid":"[\w-]{20}"\}$/);
    const waiting = ask(url); // until there is something
    await post(list(7));
    const [, ...late] = await waiting;
    assertEquals(late.slice(0, 2), text);
    assertMatch(String(late[2]), /^43\/smcp,7\[/);
    const other = "A session has no method PUT: poll with GET, send with POST";
    assertEquals(await ask(url, { method: "PUT" }), [
      400,
      "application/json",
      null,
      JSON.stringify({ code: 400, message: other }),
    ]);
    await post("1");
    const unknown = '{"code":1,"message":"Session ID unknown"}';
    assertEquals(await ask(url), [400, "application/json", null, unknown]);
    assertEquals((await post(list(8)))[3], unknown);
  },
);

onEachEngine(
  "of two polls at once the first is told to close, the second is refused",
  async ({ url }) => {
    const raw = await RawPolling.connect(url);
    const answers = await Promise.all([raw.get(), raw.get()]);
    assertEquals(answers.sort((a, b) => a.status - b.status), [
      { status: 200, body: "1" },
      { status: 400, body: "" },
    ]);
    assertEquals((await raw.post("3")).status, 400);
  },
);

onEachEngine(
  "a second body at once ends the session",
  async ({ url }) => {
    const raw = await RawPolling.connect(url);
    const slow = new ReadableStream<Uint8Array>({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode("42/smcp,")),
    });
    const target = pollingUrl(url, `&sid=${raw.sid}`);
    const first = fetch(target, { method: "POST", body: slow }).then(
      (response) => response.text().then(() => response.status),
      () => 400, // cut off
    );
    // The first has begun when the second is refused.
    let status = 200;
    while (status === 200) ({ status } = await raw.post("6"));
    assertEquals([status, await first], [400, 400]);
    assertEquals((await raw.get()).status, 400);
  },
  {},
  LEAVES_TIMER,
);

onEachEngine(
  "a polling client that is replaced gets what is queued, then a close",
  async ({ url }) => {
    const member = { role: "agent", name: "a", office_id: "o" };
    const joined = async () => {
      const raw = await RawPolling.open(url);
      await raw.post('40/smcp,{"instance_id":"one"}');
      await raw.packet("40/smcp,");
      const join = JSON.stringify(["server:join_office", member]);
      await raw.post(`42/smcp,0${join}`);
      await raw.packet("43/smcp,0[true");
      return raw;
    };
    const old = await joined();
    const next = await joined();
    assertEquals(await old.get(), { status: 200, body: "41/smcp," });
    assertEquals(await old.get(), { status: 200, body: "6\x1e1" });
    assertEquals((await old.get()).status, 400);
    await next.post("1");
  },
);

onEachEngine(
  "CONNECT in the payload of a DISCONNECT closes the connection",
  async ({ url, smcp }) => {
    const raw = await RawPolling.connect(url);
    await raw.post(["41/smcp,", "40/smcp,"]);
    await assertEnds(raw);
    assertEquals(smcp.stats.connections, 0);
  },
  {},
  LEAVES_TIMER,
);

onEachEngine(
  "a session changes from polling to a WebSocket by probe and upgrade, and loses no packet",
  async ({ url, port }) => {
    const polling = await RawPolling.connect(url);
    const target = webSocketTarget(`&sid=${polling.sid}`);
    const waiting = polling.get();
    await using raw = await RawWebSocket.open(port, { target });
    raw.send("2probe");
    assertEquals(await raw.text(""), "3probe");
    assertEquals(await waiting, { status: 200, body: "6" });
    await using second = await RawWebSocket.open(port, { target });
    await second.closed;
    // Events on both transports are all answered, in order of each.
    await polling.post(Array.from({ length: 150 }, (_, i) => list(i)));
    raw.send("5");
    for (let i = 150; i < 300; i++) raw.send(list(i));
    for (let i = 0; i < 300; i++) {
      assertMatch(await raw.text("43/smcp,"), RegExp(`^43/smcp,${i}\\[`));
    }
    assertEquals((await polling.get()).status, 400);
    assertEquals((await polling.post("3")).status, 400);
    await using third = await RawWebSocket.open(port, { target });
    await third.closed;
    await raw.alive();
  },
);

onEachEngine(
  "anything except a probe closes the WebSocket, and the session stays on polling",
  async ({ url, port }) => {
    for (const packet of ["3probe", "2", "40/smcp,", "1", "abc"]) {
      const polling = await RawPolling.connect(url);
      const target = webSocketTarget(`&sid=${polling.sid}`);
      await using raw = await RawWebSocket.open(port, { target });
      raw.send(packet);
      await assertRejects(() => raw.text("3probe"));
      assertEquals((await polling.post(list(1))).status, 200);
      await polling.packet("43/smcp,1[");
    }
  },
);

onEachEngine(
  "the server pings, and continues after each pong; events are answered in between",
  async ({ url, port }) => {
    const polling = await RawPolling.open(url);
    await using raw = await RawWebSocket.open(port);
    await raw.text("2");
    raw.send("40/smcp,"); // while a pong is due
    await raw.text("40/smcp,{");
    for (let i = 0; i < 3; i++) {
      assertEquals(await polling.get(), { status: 200, body: "2" });
      assertEquals(await polling.post("3"), { status: 200, body: "ok" });
      await raw.alive(i); // drops the frames before: the next ping follows the pong
      raw.send("3");
      await raw.text("2");
    }
  },
  // An answer timeout that is not reached.
  { heartbeat: { intervalMs: 20, timeoutMs: 60_000 } },
);

onEachEngine(
  "a session ends when its ping is not answered",
  async ({ url, port }) => {
    const polling = await RawPolling.open(url);
    assertEquals((await polling.get()).body, "2");
    assertEquals(await polling.get(), { status: 200, body: "1" });
    assertEquals((await polling.get()).status, 400);
    await using raw = await RawWebSocket.open(port);
    await raw.text("2");
    await assertRejects(() => raw.text("2"));
  },
  // Not before the next request arrives.
  { heartbeat: { intervalMs: 20, timeoutMs: 1_500 } },
);

onEachEngine(
  "a close packet over polling ends the session, and the pending request",
  async ({ url }) => {
    const raw = await RawPolling.open(url);
    const waiting = raw.get();
    assertEquals(await raw.post("1"), { status: 200, body: "ok" });
    const { status, body } = await waiting; // 400 when it came after the other one
    assertEquals(status === 400 ? "6" : body, "6");
    assertEquals((await raw.get()).status, 400);
    assertEquals((await raw.post("40/smcp,")).status, 400);
  },
);

onEachEngine(
  "a close packet over a WebSocket ends the session, as do a ping of the client and the end of TCP",
  async ({ smcp, port }) => {
    for (const packet of ["1", "2", undefined]) {
      await using raw = await RawWebSocket.connect(port);
      assertEquals(smcp.stats.connections, 1);
      if (packet === undefined) raw.end();
      else raw.send(packet); // since version 4 only the server pings
      await raw.closed;
      while (smcp.stats.connections > 0) {
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
    }
  },
);

onEachEngine(
  "close() of the server closes each WebSocket by a close frame",
  async ({ smcp, port }) => {
    await using raw = await RawWebSocket.connect(port);
    await smcp.close({ graceMs: 0 });
    assertEquals(await raw.closed, 1005);
  },
);

Deno.test("createSmcpServer() refuses an unknown engine, and an invalid rate", () => {
  const name: unknown = "sotck";
  assertThrows(
    () => createSmcpServer({ wsEngine: name as "stock" }),
    TypeError,
    'wsEngine "sotck": expected "fast" or "stock"',
  );
  for (const minUploadRate of [0, -1, NaN]) {
    assertThrows(
      () => createSmcpServer({ minUploadRate }),
      TypeError,
      `minUploadRate ${minUploadRate}: expected a number above 0`,
    );
  }
});
