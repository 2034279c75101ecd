import { assertEquals, assertMatch } from "@std/assert";
import { pollingUrl, RawPolling } from "../support/wire/raw_polling.ts";
import {
  RawWebSocket,
  webSocketTarget,
} from "../support/wire/raw_websocket.ts";
import { LEAVES_TIMER, onEachEngine } from "../support/server/wire_server.ts";

/** An answer, with the headers that Engine.IO sets. */
async function ask(url: string, init?: RequestInit) {
  const response = await fetch(url, init);
  const { status, headers } = response;
  const type = headers.get("content-type");
  const cache = headers.get("cache-control");
  return [status, type, cache, await response.text()];
}

const TEXT = ["text/plain; charset=UTF-8", "no-store"];

const list = (id: number) => `42/smcp,${id}["server:list_room",{}]`;

const join = (name: string, instance: string) => [
  `40/smcp,${JSON.stringify({ instance_id: instance })}`,
  `42/smcp,0${
    JSON.stringify([
      "server:join_office",
      { role: "agent", name, office_id: "o" },
    ])
  }`,
];

onEachEngine(
  "requests over polling have the answers of Engine.IO, with their types",
  async (start) => {
    await using server = await start();
    const { sid } = await RawPolling.open(server.url);
    const url = pollingUrl(server.url, `&sid=${sid}`);
    const post = (body: string) => ask(url, { method: "POST", body });
    assertEquals(await post("40/smcp,"), [200, "text/html", "no-store", "ok"]);
    const [status, type, cache, body] = await ask(url);
    assertEquals([status, type, cache], [200, ...TEXT]);
    assertMatch(String(body), /^40\/smcp,\{"sid":"[\w-]{20}"\}$/);
    const waiting = ask(url); // until there is something
    await post(list(7));
    const [, ...late] = await waiting;
    assertEquals(late.slice(0, 2), TEXT);
    assertMatch(String(late[2]), /^43\/smcp,7\[/);
    assertEquals(await ask(url, { method: "PUT" }), [500, null, null, ""]);
    await post("1");
    const unknown = '{"code":1,"message":"Session ID unknown"}';
    assertEquals(await ask(url), [400, "application/json", null, unknown]);
    assertEquals((await post(list(8)))[3], unknown);
  },
);

onEachEngine(
  "of two polls at once the first is told to close, the second is refused",
  async (start) => {
    await using server = await start();
    const raw = await RawPolling.connect(server.url);
    const answers = await Promise.all([raw.get(), raw.get()]);
    answers.sort((a, b) => a.status - b.status);
    assertEquals(answers, [{ status: 200, body: "1" }, {
      status: 400,
      body: "",
    }]);
  },
);

onEachEngine(
  "a second body at once ends the session",
  async (start) => {
    await using server = await start();
    const raw = await RawPolling.connect(server.url);
    const slow = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("42/smcp,"));
      },
    });
    const url = pollingUrl(server.url, `&sid=${raw.sid}`);
    const first = fetch(url, { method: "POST", body: slow }).then(
      (response) => response.text().then(() => response.status),
      () => 400, // cut off
    );
    // The first has begun when the second is refused.
    let status = 200;
    while (status === 200) ({ status } = await raw.post("6"));
    assertEquals(status, 400);
    assertEquals(await first, 400);
    assertEquals((await raw.get()).status, 400);
  },
  LEAVES_TIMER,
);

onEachEngine(
  "a polling client that is replaced gets what is queued, then a close",
  async (start) => {
    await using server = await start();
    const old = await RawPolling.open(server.url);
    const [connect = "", enter = ""] = join("a", "one");
    await old.post(connect);
    await old.packet("40/smcp,");
    await old.post(enter);
    await old.packet("43/smcp,0[true");
    const next = await RawPolling.open(server.url);
    await next.post(connect);
    await next.packet("40/smcp,");
    await next.post(enter);
    await next.packet("43/smcp,0[true");
    assertEquals(await old.get(), { status: 200, body: "41/smcp," });
    assertEquals(await old.get(), { status: 200, body: "6\x1e1" });
    assertEquals((await old.get()).status, 400);
    await next.post("1");
  },
);

onEachEngine(
  "events on both transports during an upgrade are all answered, in order of each",
  async (start) => {
    await using server = await start();
    const polling = await RawPolling.connect(server.url);
    const target = webSocketTarget(`&sid=${polling.sid}`);
    await using raw = await RawWebSocket.open(server.port, { target });
    raw.send("2probe");
    await raw.text("3probe");
    await polling.post(Array.from({ length: 150 }, (_, i) => list(i)));
    raw.send("5");
    for (let i = 150; i < 300; i++) raw.send(list(i));
    for (let i = 0; i < 300; i++) {
      assertMatch(await raw.text("43/smcp,"), new RegExp(`^43/smcp,${i}\\[`));
    }
  },
);

onEachEngine(
  "CONNECT in the payload of a DISCONNECT closes the connection",
  async (start) => {
    await using server = await start();
    const raw = await RawPolling.connect(server.url);
    await raw.post(["41/smcp,", "40/smcp,"]);
    let last = await raw.get();
    for (let i = 0; i < 3 && last.status === 200; i++) last = await raw.get();
    assertEquals(last.status, 400);
    assertEquals(server.smcp.stats.connections, 0);
  },
  LEAVES_TIMER,
);
