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
  connectionsOf,
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
  check: (
    ends: { io: Server; socket: Socket; raw: RawFrames },
  ) => void | Promise<void>,
  options?: { pingInterval: number },
): Promise<void> {
  const connected = Promise.withResolvers<{ io: Server; socket: Socket }>();
  await using engine = await startBareEngine((io) => {
    io.of(SMCP_NAMESPACE).on(
      "connection",
      (socket) => connected.resolve({ io, socket }),
    );
  }, options);
  await using raw = await RawFrames.open(engine.url, SMCP_NAMESPACE);
  await check({ ...await connected.promise, raw });
}

Deno.test("the packages whose private fields are read are pinned to one version", () => {
  const pinned = ["socket.io", "engine.io", "socket.io-parser"] as const;
  for (const name of [...pinned, "socket.io-client"] as const) {
    const version = manifest.imports[name];
    assert(/^npm:[a-z.-]+@\d+\.\d+\.\d+$/.test(version), version);
  }
});

Deno.test("socket.io: Client.decoder is the decoder created by the server", async () => {
  await withSession(({ socket }) => {
    assertField(socket.client, "decoder");
    const conn = new StockConnection(socket.conn);
    assertInstanceOf(new StockSocket(socket, conn).decoder, PacketDecoder);
  });
});

Deno.test("socket.io: Server._nsps holds every namespace", async () => {
  await withSession(({ io }) => {
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
    assertEquals(connectionsOf(engine), [conn]);
    const [sid = ""] = Object.keys(engine["clients"]);
    assertEquals(sid, conn["id"]);
    assertEquals(connectionOf(engine, sid), conn);
    assertEquals(connectionOf(engine, "__proto__"), undefined);
    conn.close(true);
    if (conn.readyState !== "closed") await once(conn, "close");
    assertEquals(connectionsOf(engine), []);
  });
});

Deno.test("engine.io: Socket.id is the sid that the client uses", async () => {
  const opened = Promise.withResolvers<Connection>();
  await using engine = await startBareEngine((io) =>
    io.engine.on("connection", opened.resolve)
  );
  const { sid } = await RawPolling.open(engine.url);
  const connection = await opened.promise;
  assertEquals(connection["id"], sid);
});

Deno.test("engine.io: Socket.writeBuffer holds packets that the transport has not taken", async () => {
  const opened = Promise.withResolvers<Connection>();
  await using engine = await startBareEngine((io) =>
    io.engine.on("connection", opened.resolve)
  );
  await RawPolling.open(engine.url);
  const connection = await opened.promise;
  assertField(connection, "writeBuffer");
  const { hasQueued } = new StockConnection(connection);
  assertEquals(hasQueued, false);
  connection.write("later"); // the client has no pending request for it
  assertEquals(new StockConnection(connection).hasQueued, true);
});

Deno.test("engine.io: the transport's socket is the one of the upgrade; polling has none", async () => {
  await withSession(({ socket: { conn } }) => {
    assertField(conn.transport, "socket");
    assertInstanceOf(new StockConnection(conn).admit(), FrameSocket);
  });
  const opened = Promise.withResolvers<Connection>();
  await using engine = await startBareEngine((io) =>
    io.engine.on("connection", opened.resolve)
  );
  await RawPolling.open(engine.url);
  const polling = new StockConnection(await opened.promise);
  assertEquals(polling.admit(), undefined);
});

Deno.test("engine.io: Socket.pingTimeoutTimer and hasRefreshedPingTimeout change with a ping, a message and a pong", async () => {
  const connected = Promise.withResolvers<Connection>();
  await using engine = await startBareEngine(
    (io) => io.engine.on("connection", connected.resolve),
    { pingInterval: 50 },
  );
  const url = engine.url.replace("http", "ws");
  const client = new WebSocket(`${url}/?EIO=4&transport=websocket`);
  const closed = once(client, "close");
  const pinged = Promise.withResolvers<void>();
  client.onmessage = ({ data }) => data === "2" && pinged.resolve();
  const connection = await connected.promise;
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

Deno.test("engine.io: reads the peer's address from the WebSocket's _socket", async () => {
  await withSession(({ socket: { conn } }) => {
    assertEquals(conn.remoteAddress, "127.0.0.1");
  });
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
