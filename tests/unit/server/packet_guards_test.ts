import { assertEquals, assertThrows } from "@std/assert";
import { ConnectionSlots } from "../../../server/limits/slots.ts";
import { EventEmitter } from "node:events";
import {
  earlyBytes,
  guardQueue,
  SessionGuard,
} from "../../../server/limits/guards.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { MAX_CONNECT_BYTES } from "../../../server/limits/limits.ts";
import type { WireConnection } from "../../../server/wire/mod.ts";

/** A polling client's connection, which keeps what it is given. */
class FakeConnection extends EventEmitter implements WireConnection {
  readonly request = { url: "/", headers: {}, socket: {} };
  readonly remoteAddress = "";
  readonly isOpen = true;
  readonly hasQueued = false;
  readonly isPongDue = false;
  readonly isKnownAlive = true;
  isWritable = true;
  readonly sent: unknown[] = [];
  readonly closes: (boolean | undefined)[] = [];

  write(data: unknown) {
    this.sent.push(data);
  }
  close(discard?: boolean) {
    this.closes.push(discard);
  }
  admit() {
    return undefined;
  }
  limitQueue() {
    return false;
  }
  whenGone(gone: () => void) {
    gone();
  }
}

/** A guarded connection, and why it was refused. */
function guarded(maxConnectBytes = 100, maxMessageBytes = 50) {
  const connection = new FakeConnection();
  const refused: unknown[] = [];
  const guard = new SessionGuard(
    connection,
    { maxConnectBytes, maxMessageBytes },
    (...all) => refused.push(all),
  );
  const early = (data: unknown) => connection.emit("packet", { data });
  return { connection, guard, refused, early };
}

const PARTY = { address: "192.0.2.1", socket: "1" };

Deno.test("A server refuses a limit of 0 for CONNECT packets", () => {
  assertThrows(
    () => createSmcpServer({ maxConnectBytes: 0 }),
    TypeError,
    "Cannot use maxConnectBytes 0: expected a number above 0",
  );
});

const OVER_BYTES = "more than 400 bytes without a session";

Deno.test("a connection without a session is closed once, beyond the budget of bytes or packets", () => {
  for (const data of ["x".repeat(401), new Uint8Array(401)]) {
    const { connection, refused, early } = guarded();
    early(data.slice(0, 400));
    assertEquals(refused, []);
    early(data.slice(0, 1));
    early(data);
    assertEquals(refused, [[OVER_BYTES, undefined]]);
    assertEquals(connection.closes, [true]);
  }
  const { guard, refused, early } = guarded();
  for (let at = 0; at < 32; at++) early(undefined);
  assertEquals(refused, []);
  early(undefined);
  const why = "more than 32 packets without a session";
  assertEquals(refused, [[why, undefined]]);
  assertEquals(guard.judge("0/smcp,{}"), "it follows a refused packet");
});

Deno.test("a connection may send four of the largest CONNECTs, 65,536 bytes by default, before it has a session", () => {
  assertEquals(earlyBytes(MAX_CONNECT_BYTES), 65_536);
  const { refused, early } = guarded(MAX_CONNECT_BYTES);
  for (let at = 0; at < 4; at++) early("x".repeat(MAX_CONNECT_BYTES));
  assertEquals(refused, []);
  early("x");
  const why = "more than 65536 bytes without a session";
  assertEquals(refused, [[why, undefined]]);
});

Deno.test("the budget ends with the session's begin, and a new one begins with its end", () => {
  const { connection, guard, refused, early } = guarded();
  guard.admit(PARTY);
  early("x".repeat(4000));
  assertEquals([refused, connection.listenerCount("packet")], [[], 0]);
  guard.refuse("a reason");
  assertEquals(refused, [["a reason", PARTY]]);
  const again = guarded();
  again.guard.admit(PARTY);
  again.guard.leave();
  again.early("x".repeat(401));
  assertEquals(again.refused, [[OVER_BYTES, undefined]]);
});

Deno.test("a connection that Engine.IO cannot read is refused; any other end is none", () => {
  const { connection, refused } = guarded();
  connection.emit("close", "transport close");
  assertEquals(refused, []);
  connection.emit("close", "parse error");
  assertEquals(refused, [["not an Engine.IO packet", undefined]]);
});

Deno.test("without a session only CONNECT and DISCONNECT are let through", () => {
  const { guard } = guarded();
  const packets = [
    ...["0/smcp,{}", "1/smcp,", '2["e"]', '51-["e",{}]', new Uint8Array(1)],
  ];
  const attachment = "attachments without a session";
  assertEquals(packets.map((packet) => guard.judge(packet)), [
    ...[undefined, undefined, "a packet without a session"],
    ...[attachment, attachment],
  ]);
});

Deno.test("a CONNECT that is too long is answered with the reason in the protocol's namespace alone", () => {
  const { connection, guard } = guarded();
  const long = (head: string) => head.padEnd(101, "x");
  const why = "a CONNECT of more than 100 bytes";
  assertEquals(guard.judge(long("0/smcp,").slice(0, 100)), undefined);
  assertEquals(guard.judge(long("0/other,")), why);
  assertEquals(connection.sent, []);
  assertEquals(guard.judge(long("0/smcp,")), why);
  const message =
    "Invalid auth: the CONNECT packet has 101 bytes, this server accepts 100; send less";
  const answer = JSON.stringify({ message, data: { code: 400, message } });
  assertEquals(connection.sent, [`4/smcp,${answer}`]);
});

Deno.test("a session may send 32 further CONNECTs, and packets up to the limit with their attachments", () => {
  const { guard } = guarded();
  guard.admit(PARTY);
  for (let at = 0; at < 32; at++) {
    assertEquals(guard.judge("0/other,"), undefined);
  }
  assertEquals(guard.judge("0/other,"), "more than 32 connects");
  assertEquals(guard.judge('2["e"]'), undefined);
  const tooLong = "a packet of more than 50 bytes with its attachments";
  const head = '52-["e",{},{}]';
  for (let again = 0; again < 2; again++) {
    assertEquals(guard.judge(head), undefined);
    assertEquals(guard.judge(new Uint8Array(20)), undefined);
    const left = 50 - head.length - 20;
    assertEquals(guard.judge(new Uint8Array(left)), undefined);
  }
  assertEquals(guard.judge(new Uint8Array(1)), tooLong);
});

Deno.test("the body of a POST has at most 2,000 packets, and before a session no more than its budget", () => {
  const many = guarded();
  many.guard.admit(PARTY);
  const take = many.guard.watch();
  take("x".repeat(1000));
  take("\u001e".repeat(1999));
  assertEquals(many.refused, []);
  take("\u001e");
  take("\u001e");
  assertEquals(many.refused, [["more than 2000 packets in a POST", PARTY]]);
  const early = guarded();
  const part = early.guard.watch();
  part("x".repeat(300));
  part(new Uint8Array(100));
  assertEquals(early.refused, []);
  part("x");
  assertEquals(early.refused, [
    ["a POST too large without a session", undefined],
  ]);
});

Deno.test("guardQueue() cuts off a polling client with too much queued, but not for one large message", async () => {
  const kinds = [
    (length: number) => "x".repeat(length),
    (length: number) => new Uint8Array(length),
  ];
  for (const bytes of kinds) {
    const connection = new FakeConnection();
    const cuts: string[] = [];
    guardQueue(connection, 10, (limit) => cuts.push(limit));
    const queue = (size: number) =>
      connection.emit("packetCreate", { data: bytes(size) });
    queue(20); // alone
    connection.emit("flush");
    queue(4);
    queue(6); // the batch is gone
    connection.emit("flush");
    connection.isWritable = false;
    connection.emit("packetCreate", {});
    await Promise.resolve();
    assertEquals([cuts, connection.closes], [[], []]);
    queue(1); // the batch of ten is on its way
    assertEquals(cuts, [], "not while the packet is sent");
    queue(1);
    await Promise.resolve();
    assertEquals([cuts, connection.closes], [["queuedBytes"], [true]]);
  }
});

Deno.test("guardQueue() without a limit counts nothing", () => {
  const connection = new FakeConnection();
  guardQueue(connection, Infinity, () => {});
  assertEquals(connection.listenerCount("packetCreate"), 0);
  assertEquals(connection.listenerCount("upgrade"), 1);
});

Deno.test("ConnectionSlots keeps a slot until its request ends without a session, or its session", () => {
  const slots = new ConnectionSlots(1);
  const reserve = (request: object, address = "192.0.2.1") => {
    const carrier = new EventEmitter();
    return [slots.reserve(request, carrier, address), carrier] as const;
  };
  const [isFirst, first] = reserve({});
  assertEquals([isFirst, reserve({})[0]], [true, false]);
  assertEquals(reserve({}, "192.0.2.2")[0], true);
  first.emit("close");
  const connection = new FakeConnection();
  slots.transfer(connection); // it has none
  assertEquals(connection.listenerCount("close"), 0);
  const [isSecond, second] = reserve(connection.request);
  slots.transfer(connection);
  second.emit("close");
  assertEquals([isSecond, reserve({})[0]], [true, false]);
  connection.emit("close");
  assertEquals(reserve({})[0], true);
});
