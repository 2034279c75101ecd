import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { ObjectLinks } from "../../../../server/workers/links.ts";
import type { WorkerWebSocket } from "../../../../server/workers/platform.ts";

/** A WebSocket that keeps what is sent, and of which a test makes the events. */
class FakeSocket implements WorkerWebSocket {
  binaryType = "arraybuffer";
  readyState = 1;
  readonly sent: string[] = [];
  closes = 0;
  readonly #listeners = new Map<string, (event: never) => void>();

  accept(): void {}

  send(data: string | Uint8Array): void {
    if (this.readyState !== 1) throw new TypeError("closed");
    this.sent.push(Buffer.from(data).toString());
  }

  close(): void {
    this.closes++;
    this.readyState = 3;
  }

  addEventListener(type: string, listener: (event: never) => void): void {
    this.#listeners.set(type, listener);
  }

  says(text: string): void {
    const data = new TextEncoder().encode(text).buffer;
    Reflect.apply(this.#listeners.get("message") ?? ignore, this, [{ data }]);
  }

  ends(code = 1006): void {
    this.readyState = 3;
    Reflect.apply(this.#listeners.get("close") ?? ignore, this, [{ code }]);
  }
}

const ignore = () => {};

function setUp() {
  const dialed: string[] = [];
  const told: string[] = [];
  let connection = Promise.withResolvers<WorkerWebSocket>();
  const links = new ObjectLinks({
    dial: (node) => {
      dialed.push(node);
      connection = Promise.withResolvers();
      return connection.promise;
    },
    received: (node, message) => told.push(`${node}: ${message}`),
    failed: (node) => told.push(`${node} failed`),
  });
  const send = (text: string, to = "office:a") =>
    links.send(to, "", [
      Buffer.from(text.slice(0, 1)),
      Buffer.from(text.slice(1)),
    ]);
  return {
    links,
    dialed,
    told,
    send,
    async connect(socket: WorkerWebSocket) {
      connection.resolve(socket);
      await connection.promise;
    },
    async fail() {
      connection.reject(new Error("no such object"));
      await connection.promise.catch(() => {});
    },
  };
}

Deno.test("ObjectLinks connects at the first message, and keeps the order of those that wait", async () => {
  const { links, dialed, told, send, connect } = setUp();
  assertEquals([send("one"), send("two")], ["sent", "sent"]);
  assertEquals(dialed, ["office:a"]);
  const socket = new FakeSocket();
  await connect(socket);
  send("three");
  assertEquals(socket.sent, ["one", "two", "three"]);
  socket.says("hello");
  assertEquals(told, ["office:a: hello"]);
  assertEquals([...links.peers], ["office:a"]);
  assertEquals(links.counts, {
    messagesIn: 1,
    messagesOut: 3,
    bytesIn: 5,
    bytesOut: 11,
  });
});

Deno.test("ObjectLinks reports the end of a WebSocket once, and connects again at the next message", async () => {
  const { links, dialed, told, send, connect } = setUp();
  send("one");
  const socket = new FakeSocket();
  await connect(socket);
  socket.ends();
  socket.ends();
  assertEquals(told, ["office:a failed"]);
  assertEquals([...links.peers], []);
  send("two");
  assertEquals(dialed.length, 2);
  const next = new FakeSocket();
  await connect(next);
  socket.says("from the past");
  socket.ends();
  assertEquals(
    told,
    ["office:a failed"],
    "the former one says nothing any more",
  );
  assertEquals(next.sent, ["two"]);
});

Deno.test("ObjectLinks reports an object that cannot be reached, and one that is gone before its event", async () => {
  const { told, send, connect, fail } = setUp();
  send("one");
  await fail();
  assertEquals(told, ["office:a failed"]);
  send("two");
  const socket = new FakeSocket();
  await connect(socket);
  socket.readyState = 3;
  assertEquals(send("three"), "sent");
  await Promise.resolve();
  assertEquals(told, ["office:a failed", "office:a failed"]);
});

Deno.test("ObjectLinks takes a new WebSocket of an object in place of its former one", () => {
  const { links, told, send } = setUp();
  const [first, second] = [new FakeSocket(), new FakeSocket()];
  links.take("eu-1.aa", first);
  links.take("eu-1.aa", second);
  assertEquals(told, ["eu-1.aa failed"]);
  assertEquals(first.closes, 1);
  send("hi", "eu-1.aa");
  assertEquals([first.sent, second.sent], [[], ["hi"]]);
});

Deno.test("ObjectLinks closes all, also one that is on its way", async () => {
  const { links, told, send, connect } = setUp();
  const open = new FakeSocket();
  links.take("registry", open);
  send("one");
  links.close();
  assertEquals(told, ["registry failed", "office:a failed"]);
  assertEquals(open.closes, 1);
  const late = new FakeSocket();
  await connect(late);
  assertEquals([late.closes, late.sent], [1, []]);
});

Deno.test("ObjectLinks tells an object that closes its WebSocket from one that is lost", () => {
  const { links } = setUp();
  const [retired, lost] = [new FakeSocket(), new FakeSocket()];
  links.take("office:a", retired);
  links.take("office:b", lost);
  retired.ends(1000);
  lost.ends();
  assertEquals(
    ["office:a", "office:b"].map((node) => links.hasRetired(node)),
    [true, false],
  );
  links.take("office:a", new FakeSocket());
  assertEquals(links.hasRetired("office:a"), false, "it is back");
});
