import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { once } from "node:events";
import type { Server as Engine, Socket as Connection } from "engine.io";
import type { Server, Socket } from "socket.io";
import { Decoder } from "socket.io-parser";
import manifest from "../../../../deno.json" with { type: "json" };
import { SMCP_NAMESPACE } from "../../../../protocol/mod.ts";
import { FrameSocket } from "../../../../server/wire/frame_socket.ts";
import {
  PacketDecoder,
  unfinishedPacketOf,
} from "../../../../server/wire/packet_decoder.ts";
import {
  connectionOf,
  endClosing,
  StockConnection,
  StockSocket,
} from "../../../../server/wire/stock_engine.ts";
import { startBareEngine } from "../../../support/server/bare_engine.ts";
import { RawFrames } from "../../../support/wire/raw_frames.ts";
import { RawPolling } from "../../../support/wire/raw_polling.ts";

/** Fails with the name of a missing field. */
function assertField(object: object, field: string): void {
  assert(
    field in object,
    `${object.constructor.name} has no ${field}: see server/wire/stock_engine.ts`,
  );
}

/** One session on the server's own engine, with the ends of both libraries. */
async function withSession(
  check: (ends: { io: Server; socket: Socket }) => void | Promise<void>,
): Promise<void> {
  const connected = Promise.withResolvers<{ io: Server; socket: Socket }>();
  await using engine = await startBareEngine((io) => {
    io.of(SMCP_NAMESPACE).on(
      "connection",
      (socket) => connected.resolve({ io, socket }),
    );
  });
  await using _raw = await RawFrames.open(engine.url, SMCP_NAMESPACE);
  await check(await connected.promise);
}

Deno.test("the packages whose private fields are read are pinned to one version", () => {
  const pinned = ["socket.io", "engine.io", "socket.io-parser"] as const;
  for (const name of [...pinned, "socket.io-client"] as const) {
    const version = manifest.imports[name];
    assert(/^npm:[a-z.-]+@\d+\.\d+\.\d+$/.test(version), version);
  }
});

Deno.test("socket.io: Client.decoder is the decoder created by the server, Server._nsps holds every namespace", async () => {
  await withSession(({ io, socket }) => {
    assertField(socket.client, "decoder");
    const conn = new StockConnection(socket.conn);
    assertInstanceOf(new StockSocket(socket, conn).decoder, PacketDecoder);
    assertField(io, "_nsps");
    const before = io._nsps.size;
    io.of("/another");
    assertEquals(io._nsps.size, before + 1);
  });
});

Deno.test("engine.io: Server.clients holds the open connections by Socket.id", async () => {
  await withSession(async ({ io, socket: { conn } }) => {
    const engine: Engine = io.engine;
    assertField(engine, "clients");
    assertField(conn, "id");
    assertEquals(Object.values(engine["clients"]), [conn]);
    const [sid = ""] = Object.keys(engine["clients"]);
    assertEquals(sid, conn["id"]);
    assertEquals(connectionOf(engine, sid), conn);
    assertEquals(connectionOf(engine, "__proto__"), undefined);
    conn.close(true);
    if (conn.readyState !== "closed") await once(conn, "close");
    assertEquals(Object.values(engine["clients"]), []);
  });
});

/** An engine, and its first connection. */
async function startOpened(options?: { pingInterval: number }) {
  const { promise, resolve } = Promise.withResolvers<Connection>();
  const engine = await startBareEngine(
    (io) => io.engine.on("connection", resolve),
    options,
  );
  return { engine, opened: promise };
}

Deno.test("engine.io: Socket.id is the sid that the client uses, Socket.writeBuffer holds packets that the transport has not taken, polling has no socket", async () => {
  const { engine, opened } = await startOpened();
  await using _engine = engine;
  const { sid } = await RawPolling.open(engine.url);
  const connection = await opened;
  assertEquals(connection["id"], sid);
  assertField(connection, "writeBuffer");
  assertEquals(new StockConnection(connection).hasQueued, false);
  connection.write("later"); // the client has no pending request for it
  assertEquals(new StockConnection(connection).hasQueued, true);
  assertEquals(new StockConnection(connection).admit(), undefined);
});

Deno.test("engine.io: the transport's shouldClose ends a connection over polling that waits for a poll to close", async () => {
  const { engine, opened } = await startOpened();
  await using _engine = engine;
  await RawPolling.open(engine.url);
  const connection = await opened;
  endClosing(connection); // it is open: nothing ends
  assertEquals(connection.readyState, "open");
  connection.close();
  connection.close(true);
  assertEquals(connection.readyState, "closing");
  assertField(connection.transport, "shouldClose");
  endClosing(connection);
  assertEquals(connection.readyState, "closed");
});

Deno.test("engine.io: the transport's socket is the one of the upgrade, which has the peer's address", async () => {
  await withSession(({ socket: { conn } }) => {
    assertField(conn.transport, "socket");
    assertInstanceOf(new StockConnection(conn).admit(), FrameSocket);
    assertEquals(conn.remoteAddress, "127.0.0.1");
  });
});

Deno.test("engine.io: Socket.pingTimeoutTimer and hasRefreshedPingTimeout change with a ping, a message and a pong", async () => {
  const { engine, opened } = await startOpened({ pingInterval: 50 });
  await using _engine = engine;
  const url = engine.url.replace("http", "ws");
  const client = new WebSocket(`${url}/?EIO=4&transport=websocket`);
  const closed = once(client, "close");
  const pinged = Promise.withResolvers<void>();
  client.onmessage = ({ data }) => data === "2" && pinged.resolve();
  const connection = await opened;
  const heard = () =>
    new Promise((resolve) => {
      connection.once("packet", () => queueMicrotask(() => resolve(undefined)));
    });
  assertField(connection, "pingTimeoutTimer");
  assertField(connection, "hasRefreshedPingTimeout");
  const ours = new StockConnection(connection);
  const seen = () => [ours.isPongDue, ours.isKnownAlive];
  assertEquals(seen(), [false, true]);
  await pinged.promise;
  assertEquals(seen(), [true, false]);
  const lives = heard();
  client.send("6"); // a meaningless packet
  await lives;
  assertEquals(seen(), [true, true]);
  connection.close(true);
  await closed;
});

Deno.test("socket.io-parser: Decoder.reconstructor holds the packet whose attachments are pending", () => {
  const decoder = new Decoder();
  assertEquals(unfinishedPacketOf(decoder), undefined);
  decoder.add('51-/smcp,["x",{"_placeholder":true,"num":0}]');
  assertField(decoder, "reconstructor");
  const packet = unfinishedPacketOf(decoder);
  assertEquals(packet?.attachments, 1);
  assertEquals(packet?.data, ["x", { _placeholder: true, num: 0 }]);
  decoder.add(new Uint8Array([1]));
  assertEquals(unfinishedPacketOf(decoder), undefined);
});
