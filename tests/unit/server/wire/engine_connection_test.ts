import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { EngineConnection } from "../../../../server/wire/fetch/engine_connection.ts";
import {
  decodePacket,
  decodePayload,
  encodePacket,
  encodePayload,
} from "../../../../server/wire/fetch/engine_packet.ts";
import { FetchSocket } from "../../../../server/wire/fetch/fetch_socket.ts";
import { FakePlatform } from "../../../support/wire/fake_platform.ts";

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
  const limits = { maxPayload: 1000, earlyPayload: 1000, bytes };
  const socket = new FetchSocket(platform, limits);
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
