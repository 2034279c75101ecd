import { assertEquals, assertThrows } from "@std/assert";
import {
  bun,
  type BunServer,
  type BunSession,
  type BunWebSocket,
} from "../../../../server/fetch/bun.ts";
import { createFetchServer } from "../../../../server/fetch/mod.ts";
import { deno } from "../../../../server/fetch/deno.ts";
import { createSmcpServer } from "../../../../server/mod.ts";

Deno.test("deno() gives an address, this machine for a Unix socket, and nothing for what is unknown", () => {
  const request = new Request("http://127.0.0.1/");
  const { addressOf } = deno();
  const peer = (transport: string, hostname?: string) =>
    addressOf(request, {
      remoteAddr: { transport, ...(hostname !== undefined && { hostname }) },
    });
  assertEquals(peer("tcp", "203.0.113.5"), "203.0.113.5");
  assertEquals(peer("unix"), "localhost");
  assertEquals(peer("unixpacket"), "localhost");
  assertEquals(peer("vsock"), "");
  assertEquals(addressOf(request, undefined), "");
});

Deno.test("createFetchServer() says what to use where there is no Deno.upgradeWebSocket", () => {
  const real = Deno.upgradeWebSocket;
  const put = (value: unknown) =>
    Object.defineProperty(Deno, "upgradeWebSocket", { value });
  put(undefined);
  try {
    assertThrows(
      () => createFetchServer(),
      TypeError,
      "which has no Deno.upgradeWebSocket: on Bun use bun()",
    );
  } finally {
    put(real);
  }
});

const UPGRADE = new Request("http://127.0.0.1/smcp/");
UPGRADE.headers.set("Connection", "keep-alive, Upgrade");

/** A server of Bun that upgrades with a WebSocket that drops messages. */
function bunServer(over: Partial<BunServer> = {}) {
  const calls: unknown[] = [];
  const ws = (data: BunSession): BunWebSocket => ({
    data,
    readyState: 1,
    getBufferedAmount: () => 5,
    send: (message) => {
      calls.push(message);
      return 0;
    },
    close: (code) => void calls.push(code),
    terminate: () => void calls.push("terminate"),
  });
  const server: BunServer = {
    url: new URL("http://127.0.0.1:8787"),
    requestIP: () => ({ address: "203.0.113.5" }),
    timeout: (_request, seconds) => void calls.push(seconds),
    upgrade: (_request, { data, headers }) => {
      calls.push(headers);
      bun().websocket.open(ws(data));
      return true;
    },
    ...over,
  };
  return { server, calls };
}

Deno.test("bun() gives an address, this machine for a Unix socket, and nothing for what is unknown", () => {
  const { addressOf } = bun();
  const of = (over: Partial<BunServer>) =>
    addressOf(UPGRADE, bunServer(over).server);
  assertEquals(of({}), "203.0.113.5");
  assertEquals(of({ requestIP: () => null }), "");
  assertEquals(of({ url: new URL("unix:///run/smcp.sock") }), "localhost");
  assertEquals(addressOf(UPGRADE, undefined), "");
});

Deno.test("bun() passes on what a WebSocket does, in the order that the web knows", async () => {
  const { server, calls } = bunServer();
  const { socket, response } = bun().upgrade(
    UPGRADE,
    { protocol: "a" },
    server,
  );
  const events: unknown[] = [];
  socket.onopen = () => events.push("open");
  socket.onclose = ({ code }) => events.push(code);
  assertEquals([response.status, socket.bufferedAmount], [101, 5]);
  await Promise.resolve();
  assertEquals(events, ["open"]);
  socket.send("dropped");
  socket.close(1000);
  assertEquals(calls, [
    { "Sec-WebSocket-Protocol": "a" },
    "dropped",
    "terminate",
    1000,
  ]);
});

Deno.test("bun() makes no WebSocket of what is no upgrade, and names the argument that was not passed on", () => {
  const { upgrade } = bun();
  const refused = (request: Request, info: BunServer | undefined) =>
    assertThrows(() => upgrade(request, {}, info), TypeError).message;
  const plain = new Request("http://127.0.0.1/smcp/");
  const of = "Cannot make a WebSocket of the request";
  assertEquals(refused(plain, bunServer().server), of);
  assertEquals(
    refused(UPGRADE, bunServer({ upgrade: () => false }).server),
    of,
  );
  assertEquals(
    refused(UPGRADE, undefined),
    "Cannot make a WebSocket without the second argument of Bun's handler: pass it on to fetch",
  );
});

Deno.test("a server takes no larger messages than its platform", () => {
  assertThrows(
    () => createSmcpServer({ adapter: bun(), maxMessageBytes: 2 ** 25 }),
    RangeError,
    "with maxMessageBytes 33554432: messages have at most 16777216 bytes on Bun",
  );
});
