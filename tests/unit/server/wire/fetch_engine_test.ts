import fc from "fast-check";
import { Buffer } from "node:buffer";
import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  decodePacket,
  decodePayload,
  encodePacket,
  encodePayload,
  EngineConnection,
} from "../../../../server/wire/engine_connection.ts";
import {
  FetchSocket,
  type PlatformSocket,
} from "../../../../server/wire/fetch_socket.ts";
import { captureLog } from "../../../support/log_capture.ts";

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

Deno.test("packets of Engine.IO have a digit and their data, those with bytes are Base64 after a b", () => {
  const rows = [
    ["0{}", { type: "open", data: "{}" }],
    ["1", { type: "close" }],
    ["2probe", { type: "ping", data: "probe" }],
    ["3", { type: "pong" }],
    ["4", { type: "message" }],
    ["5", { type: "upgrade" }],
    ["6", { type: "noop" }],
    ["bAQI=", { type: "message", data: Buffer.of(1, 2) }],
  ] as const;
  for (const [text, packet] of rows) {
    assertEquals(decodePacket(text), packet, text);
    assertEquals(encodePayload([packet]), text);
  }
  for (const text of ["", "7", "x", "/", "-1", "\u0664"]) {
    assertEquals(decodePacket(text), { type: "error" }, text);
  }
  assertEquals(decodePayload("41\x1e\x1e42"), [
    { type: "message", data: "1" },
    { type: "error" },
  ]);
});

Deno.test("payloads of messages come back as they were", () => {
  const data = fc.oneof(
    fc.string({ minLength: 1 }).filter((text) => !text.includes("\x1e")),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(fc.property(fc.array(data, { minLength: 1 }), (all) => {
    const packets = all.map((data) => ({ type: "message", data } as const));
    assertEquals(decodePayload(encodePayload(packets)), packets);
    assertEquals(packets.map(encodePacket).map(decodePacket), packets);
  }));
});

/** A connection over polling, and why it was closed. */
function newConnection() {
  const request = { url: "/", headers: {}, socket: {} };
  const heartbeat = { intervalMs: 60_000, timeoutMs: 60_000 };
  const announced = { maxMessageBytes: 1000, heartbeat };
  const conn = new EngineConnection("sid", request, announced);
  const closed: string[] = [];
  conn.on("close", (reason) => closed.push(reason));
  const messages: unknown[] = [];
  conn.on("message", (data) => messages.push(data));
  return { conn, closed, messages };
}

/** A platform's WebSocket, to which the test is the platform. */
class FakePlatform implements PlatformSocket {
  binaryType = "blob";
  readyState = 0;
  bufferedAmount = 0;
  onopen: PlatformSocket["onopen"] = null;
  onmessage: PlatformSocket["onmessage"] = null;
  onerror: PlatformSocket["onerror"] = null;
  onclose: PlatformSocket["onclose"] = null;
  readonly sent: (string | Uint8Array)[] = [];
  readonly closes: (number | undefined)[] = [];

  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  send(data: string | Uint8Array): void {
    this.sent.push(data);
  }

  close(code?: number): void {
    this.readyState = 2;
    this.closes.push(code);
  }

  end(code: number): void {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

/** A body that does not end. */
function endless() {
  let drop: (() => void) | undefined;
  return {
    headers: {},
    socket: {},
    resume: () => drop?.(),
    async *[Symbol.asyncIterator]() {
      yield new TextEncoder().encode("4a");
      await new Promise<void>((_resolve, reject) =>
        drop = () => reject(new Error("dropped"))
      );
    },
  };
}

Deno.test("a client that is gone ends its connection while it polls, not after its answer", () => {
  const { conn, closed } = newConnection();
  const answers: string[] = [];
  const first = conn.poll((payload) => answers.push(payload));
  const open = '0{"sid":"sid","upgrades":["websocket"],"pingInterval":60000,' +
    '"pingTimeout":60000,"maxPayload":1000}';
  assertEquals(answers, [open]);
  first?.();
  const second = conn.poll((payload) => answers.push(payload));
  first?.();
  assertEquals([conn.isOpen, conn.isWritable, closed], [true, true, []]);
  second?.();
  assertEquals([conn.isOpen, closed], [false, ["transport error"]]);
  assertEquals(answers, [open], "nobody is answered");
});

Deno.test("an upgrade drops the body that is being read, and not the session", async () => {
  const { conn, closed, messages } = newConnection();
  const status = conn.post(endless(), () => {});
  const platform = new FakePlatform();
  const bytes = { received: 0, sent: 0 };
  const socket = new FetchSocket(platform, 1000, 1000, bytes);
  platform.open();
  conn.upgrade(socket);
  await turn();
  platform.onmessage?.({ data: "2probe" });
  platform.onmessage?.({ data: "5" });
  assertEquals(await status, 400);
  platform.onmessage?.({ data: "4b" });
  conn.write("c");
  assertEquals([messages, closed], [["b"], []]);
  assertEquals(platform.sent.map((each) => String(each).slice(0, 2)), [
    "3p",
    "0{",
    "4c",
  ]);
  conn.close(true);
  assertEquals([closed, platform.closes], [["forced close"], [undefined]]);
});

Deno.test("a body that is dropped ends its session", async () => {
  const { conn, closed } = newConnection();
  const body = endless();
  const status = conn.post(body, () => {});
  await turn();
  body.resume();
  assertEquals(await status, 400);
  assertEquals(closed, ["transport error"]);
});

function newSocket(maxPayload = 1024) {
  const ws = new FakePlatform();
  const bytes = { received: 0, sent: 0 };
  const socket = new FetchSocket(ws, maxPayload, 64, bytes);
  const heard: unknown[] = [];
  socket.on("error", (error: Error) => heard.push(error.message));
  socket.on("close", (code: number) => heard.push(code));
  return { ws, socket, heard, bytes };
}

Deno.test("FetchSocket keeps messages until there is a listener, and passes all on in order", async () => {
  const { ws, socket, bytes } = newSocket();
  ws.open();
  ws.onmessage?.({ data: "é" });
  const messages: unknown[] = [];
  socket.on("message", (data, isBinary) => messages.push([data, isBinary]));
  ws.onmessage?.({ data: "second" });
  assertEquals(messages, [], "never synchronously");
  await turn();
  ws.onmessage?.({ data: new Uint8Array([1, 2]).buffer });
  assertEquals(
    messages.map((each) => JSON.stringify(each)),
    [
      '["é",false]',
      '["second",false]',
      '[{"type":"Buffer","data":[1,2]},true]',
    ],
  );
  assertEquals([ws.binaryType, bytes.received], ["arraybuffer", 2 + 6 + 2]);
});

Deno.test("FetchSocket gives its tap the text, and its length in bytes", async () => {
  const { ws, socket, bytes } = newSocket(2 ** 20);
  socket.admit();
  ws.open();
  socket.on("message", () => {});
  await turn();
  for (const character of ["a", "é", "中", "🦊"]) {
    const text = character.repeat(65_537);
    const length = new TextEncoder().encode(text).length;
    const before = bytes.received;
    const got: unknown[] = [];
    socket.tap = (message) => got.push(message) > 0;
    ws.onmessage?.({ data: text });
    assertEquals(got, [{ text, start: 0, end: length }]);
    assertEquals(bytes.received - before, length);
  }
});

Deno.test("FetchSocket closes with 1009 for a message over the limit, which admit() raises", async () => {
  for (const [isAdmitted, size] of [[false, 65], [true, 1025]] as const) {
    const { ws, socket, heard } = newSocket();
    ws.open();
    socket.on("message", () => {});
    if (isAdmitted) socket.admit();
    await turn();
    ws.onmessage?.({ data: "x".repeat(size - 1) });
    assertEquals(ws.closes, []);
    ws.onmessage?.({ data: "x".repeat(size) });
    ws.onmessage?.({ data: "more" });
    assertEquals([ws.closes, heard], [[1009], ["Message too large"]]);
  }
});

Deno.test("FetchSocket closes with 1011 when a message handler throws, without an uncaught error", async () => {
  using logs = captureLog();
  const { ws, socket } = newSocket();
  ws.open();
  socket.on("message", () => {
    throw new Error("broken");
  });
  await turn();
  ws.onmessage?.({ data: "x" });
  assertEquals(ws.closes, [1011]);
  assertStringIncludes(logs.text, "Reading a WebSocket failed");
});

Deno.test("FetchSocket adds nothing for a peer that does not read, ends its session, and says when it is gone", async () => {
  const { ws, socket, heard } = newSocket();
  ws.open();
  const cuts: string[] = [];
  socket.limitQueue(100, (limit) => cuts.push(limit));
  socket.send("x".repeat(200)); // one message may be larger
  ws.bufferedAmount = 200;
  socket.send("more");
  await turn();
  assertEquals([cuts, ws.closes, heard], [["queuedBytes"], [1008], [1006]]);
  socket.send("never");
  assertEquals(ws.sent.length, 1);
  const gone: string[] = [];
  socket.whenGone(() => gone.push("once"));
  assertEquals(gone, []);
  ws.end(0);
  assertEquals([gone, heard], [["once"], [1006]]);
  socket.whenGone(() => gone.push("already"));
  assertEquals(gone, ["once", "already"], "immediately when it is gone");
  const early = newSocket(); // without a session 64 KiB are queued
  early.ws.open();
  early.ws.bufferedAmount = 65_530;
  early.socket.send("x".repeat(6));
  early.socket.send("x".repeat(7));
  await turn();
  assertEquals([early.ws.sent.length, early.ws.closes], [1, [1008]]);
  assertEquals(early.heard, [1006]);
});

Deno.test("FetchSocket ends when the upgrade fails, and tells the code of a regular end", () => {
  const failed = newSocket();
  failed.ws.onerror?.();
  assertEquals(failed.heard, [1006]);
  const closed = newSocket();
  closed.ws.open();
  closed.ws.onerror?.(); // a close follows
  assertEquals(closed.heard, []);
  closed.ws.end(1001);
  assertEquals(closed.heard, [1001]);
});
