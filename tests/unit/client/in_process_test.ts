import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Connection } from "../../../client/connection.ts";
import { ConnectionError } from "../../../client/errors.ts";
import { ErrorCode, ProtocolError, type Role } from "../../../protocol/mod.ts";
import {
  type ConnectOptions,
  InProcessDoor,
} from "../../../server/doors/in_process.ts";
import type { InProcessConnection } from "../../../shared/in_process.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { OFFICE, plainOffices } from "../../support/server/plain_offices.ts";

const MAX_PAYLOAD = 10_000;

/** A Server without sockets, and with a clock. */
function serve(date: () => number = () => Date.now()) {
  const plain = plainOffices();
  const { offices, audit } = plain;
  const door = new InProcessDoor({
    offices,
    audit: (event) => void audit.push(event),
    clock: { now: () => 0, date },
    unknownEvent: () => {},
  });
  const connect = (options: ConnectOptions = {}) =>
    door.offer(options, { url: "in process", maxPayload: MAX_PAYLOAD });
  const members = () => offices.find(OFFICE)?.members.map((m) => m.name) ?? [];
  const kick = (name: string) => {
    const office = offices.find(OFFICE);
    const member = office?.members.find((each) => each.name === name);
    if (!office || !member) throw new Error(`${name} is no member`);
    office.kick(member, { by: "operator", reason: "enough", holdMs: 0 });
  };
  return { ...plain, door, connect, members, kick };
}

function client(connection: InProcessConnection, name: string, role: Role) {
  const log: unknown[] = [];
  const one = new Connection(
    { connection, name, role },
    (thrown) => log.push({ thrown }),
  );
  for (const event of ["connected", "disconnected", "joined"] as const) {
    one.on(event, (value) => log.push({ [event]: value }));
  }
  one.on("refused", ({ message }) => log.push({ refused: message }));
  return { one, log };
}

/** A Server with an Agent and a Computer in its office. */
async function pair(options: ConnectOptions = {}) {
  const server = serve();
  const computer = client(server.connect(options), "pc", "computer");
  const agent = client(server.connect(options), "planner", "agent");
  for (const { one } of [computer, agent]) {
    await one.connect();
    await one.join(OFFICE);
  }
  const request = (payload: object, options: object = {}) =>
    agent.one.request("client:tool_call", {
      ...ANY_REQUEST,
      agent: "planner",
      computer: "pc",
      ...payload,
    }, { timeoutMs: 5000, ...options });
  const call = (req_id: string) => request({ req_id });
  const onRequest = computer.one.onRequest.bind(computer.one);
  const kick = () => server.kick("planner");
  const close = async () => {
    await agent.one.close();
    await computer.one.close();
  };
  return {
    server,
    agent,
    computer,
    request,
    call,
    onRequest,
    kick,
    [Symbol.asyncDispose]: close,
  };
}

const next = <E extends "connected" | "disconnected" | "joined" | "refused">(
  { one }: { one: Connection },
  event: E,
) => new Promise<void>((resolve) => one.on(event, () => resolve()));

Deno.test("clients in process join, call and are notified in order, and close() frees the seat (protocol §5, §9)", async () => {
  await using office = await pair();
  const { server, agent, computer, call } = office;
  const order: unknown[] = [];
  office.onRequest((_event, payload) => {
    order.push(Object(payload).req_id);
    return { content: [] };
  });
  agent.one.on("notification", ({ event }) => order.push(event));
  const calls = [call("1"), call("2")];
  assertEquals(await Promise.all(calls), [{ content: [] }, { content: [] }]);
  server.join("computer", "other");
  await call("3");
  assertEquals(order, ["1", "2", "notify:enter_office", "3"]);
  const { protocol, maxPayload } = agent.one;
  assertEquals([protocol, maxPayload], ["0.4", MAX_PAYLOAD]);
  await agent.one.close();
  assertEquals(server.members(), ["pc", "other"]);
  await computer.one.close();
  assertEquals([server.members(), server.door.open.size], [["other"], 0]);
  const reason = "closed by this client";
  for (const { log } of [agent, computer]) {
    assertEquals(log, [
      { connected: { reconnected: false } },
      { joined: { office: OFFICE, rejoined: false } },
      { disconnected: { reason, reconnecting: false } },
    ]);
  }
});

Deno.test("a client in process that is kicked reconnects and rejoins; its pending request is answered before (protocol §5, §9)", async () => {
  await using office = await pair();
  const { agent, call } = office;
  const requested = Promise.withResolvers<void>();
  office.onRequest(() => {
    requested.resolve();
    return new Promise(() => {});
  });
  const pending = assertRejects(() => call("1"), ProtocolError, "enough");
  await requested.promise;
  const back = next(agent, "joined");
  office.kick();
  await pending;
  assertEquals(agent.one.state, "reconnecting");
  await assertRejects(() => call("2"), ConnectionError, "being restored");
  await back;
  office.onRequest(() => ({ content: [] }));
  assertEquals(await call("3"), { content: [] });
  assertEquals(
    agent.log.slice(2).flatMap((each) => Object.keys(Object(each))),
    ["disconnected", "connected", "joined"],
  );
});

Deno.test("a client in process that closes after a kick does not reconnect; one whose Server closes meanwhile ends with its error", async () => {
  for (const isClosing of [true, false]) {
    await using office = await pair();
    const { server, agent } = office;
    const gone = next(agent, "disconnected");
    if (isClosing) agent.one.on("disconnected", () => agent.one.close());
    office.kick();
    await gone;
    if (!isClosing) {
      const refused = next(agent, "refused");
      server.door.close("server shutting down");
      await refused;
    }
    await agent.one.close();
    assertEquals(agent.one.state, "closed");
    assertEquals(server.door.open.size, isClosing ? 1 : 0);
  }
});

Deno.test("a client in process takes its own seat over with another connection, and the former one ends (protocol §9)", async () => {
  const server = serve();
  const ends: { reason: string; isFinal: boolean }[] = [];
  const connection = server.connect();
  const join = async () => {
    const end = connection.open({ role: "agent", instance: "i" }, {
      receive: () => {},
      closed: (reason, isFinal) => void ends.push({ reason, isFinal }),
    });
    const member = { role: "agent", name: "planner", office_id: OFFICE };
    const ok = await new Promise((resolve) =>
      end.send("server:join_office", member, ([ok]) => resolve(ok))
    );
    assertEquals(ok, true);
    return end;
  };
  await join();
  const second = await join();
  const reason = "its client joined with another connection";
  assertEquals(ends, [{ reason, isFinal: true }]);
  await second.close();
  assertEquals(server.door.open.size, 0);
});

Deno.test("a client in process ends when its Server closes, and cannot connect again", async () => {
  await using office = await pair();
  const { server, agent, computer } = office;
  const ended = next(computer, "disconnected");
  await server.offices.drain(0);
  server.door.close("server shutting down");
  await ended;
  for (const { one, log } of [agent, computer]) {
    assertEquals(one.state, "closed");
    assertEquals(log.at(-1), {
      disconnected: { reason: "server shutting down", reconnecting: false },
    });
    const error = await assertRejects(() => one.connect(), ProtocolError);
    assertEquals(error.code, ErrorCode.INTERNAL_ERROR);
  }
  assertThrows(() => server.connect(), ProtocolError, "shutting down");
});

Deno.test("a request in process ends at its timeout, its abort and the end of its connection; late answers are dropped (protocol §7, §9)", async () => {
  await using office = await pair();
  const { agent, call, request } = office;
  const answers: ((value: unknown) => void)[] = [];
  office.onRequest(() => new Promise((resolve) => answers.push(resolve)));
  const late = () => request({ req_id: "1" }, { timeoutMs: 1 });
  await assertRejects(late, ConnectionError, "within 0.001 s");
  const abort = new AbortController();
  const { signal } = abort;
  const aborted = assertRejects(
    () => request({ req_id: "2" }, { signal }),
    Error,
    "not needed",
  );
  abort.abort(new Error("not needed"));
  await aborted;
  for (const answer of answers) answer({ content: ["late"] });
  office.onRequest(() => ({ content: [] }));
  assertEquals(await call("3"), { content: [] });
  office.onRequest(() => new Promise(() => {}));
  const lost = assertRejects(() => call("4"), ConnectionError, "was lost");
  await agent.one.close();
  await lost;
});

Deno.test("a request in process that is too large, or no JSON, is not sent (protocol §9)", async () => {
  await using office = await pair();
  const large = { params: { text: "x".repeat(MAX_PAYLOAD) } };
  const send = () => office.request(large);
  assertEquals((await assertRejects(send, ConnectionError)).code, "too_large");
  const big = () => office.request({ params: { big: 1n } });
  await assertRejects(big, TypeError, "as JSON");
});

Deno.test("the identity of a client in process restricts what it joins as, until it expires (protocol §10)", async () => {
  const server = serve();
  const identity = { principal: "k", policy: { offices: ["south"] } };
  const { one } = client(server.connect({ identity }), "pc", "computer");
  await one.connect();
  const why = "Not allowed to join this office";
  await assertRejects(() => one.join(OFFICE), ConnectionError, why);
  await one.join("south");
  await one.close();
  // However slow the machine is: it is accepted first, and expires then.
  let isAccepted = false;
  const clocked = serve(() => isAccepted ? Date.now() : 0);
  const expiresAt = Date.now() + 50;
  const brief = client(
    clocked.connect({ identity: { ...identity, expiresAt } }),
    ...["pc", "computer"] as const,
  );
  brief.one.on("connected", () => isAccepted = true);
  const hold = setTimeout(() => {}, 60_000); // the timer of an expiry keeps no process
  await brief.one.connect();
  await next(brief, "refused");
  clearTimeout(hold);
  const reason = "Authentication failed";
  assertEquals(brief.log.slice(1), [
    {
      disconnected: { reason: "its credentials expired", reconnecting: true },
    },
    { disconnected: { reason, reconnecting: false } },
    { refused: reason },
  ]);
  await brief.one.close();
});

Deno.test("connect() refuses options that cannot be used", () => {
  const { connect } = serve();
  for (
    const [options, says] of [
      [
        { protocol: "0.1" },
        'Cannot connect with the protocol "0.1": expected "0.2", "0.3" or "0.4"',
      ],
      [{ identity: {} }, "without principal"],
    ] as const
  ) {
    const wrong = () => Reflect.apply(connect, undefined, [options]);
    assertThrows(wrong, TypeError, says);
  }
});

Deno.test("clients that answer each other without end do not stop timers", async () => {
  await using office = await pair();
  office.onRequest(() => ({ content: [] }));
  let isTimeUp = false;
  const timer = setTimeout(() => isTimeUp = true, 1);
  let calls = 0;
  while (!isTimeUp && calls < 100_000) await office.call(String(calls++));
  clearTimeout(timer);
  assertEquals(isTimeUp, true);
});
