import { EventEmitter, once } from "node:events";
import {
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { connect as dial } from "node:net";
import { createServer, type Server } from "node:http";
import { ProtocolError } from "../../../protocol/mod.ts";
import { atTime, endAtExpiry } from "../../../server/doors/expiry.ts";
import {
  InProcessDoor,
  type InProcessGuest,
} from "../../../server/doors/in_process.ts";
import type { Session } from "../../../server/doors/session.ts";
import { closeServer, listenOn } from "../../../server/http/listen.ts";
import {
  describeTlsFailure,
  watchListener,
} from "../../../server/http/listeners.ts";
import { Journal } from "../../../server/shared/audit.ts";
import { JsonText } from "../../../server/wire/json_text.ts";
import type { ServerEnd } from "../../../shared/in_process.ts";
import { Pace } from "../../../shared/pace.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { plainOffices } from "../../support/server/plain_offices.ts";
import { standingClock } from "../../support/server/standing_clock.ts";

const LEAVE = { office_id: "north" };
const REQUEST = { ...ANY_REQUEST, ...LEAVE };

/** A client that keeps what it gets. */
function connect(door: InProcessDoor, guest: Partial<InProcessGuest> = {}) {
  const heard: [string, unknown][] = [];
  const closed: string[] = [];
  /** Answer the requests that have no handler. */
  const answers: ((value?: unknown) => void)[] = [];
  type Handler = (payload: unknown) => unknown;
  const handlers = new Map<string, Handler>();
  const end: ServerEnd = door.connect({ protocol: "0.4", ...guest }, {
    receive(event, payload, answer) {
      heard.push([event, payload]);
      const handle = handlers.get(event);
      if (handle) answer?.(handle(payload));
      else if (answer) answers.push(answer);
    },
    closed: (reason) => void closed.push(reason),
  });
  const request = (event: string, payload: unknown) =>
    new Promise<readonly unknown[]>((resolve) =>
      end.send(event, payload, resolve)
    );
  return {
    end,
    heard,
    closed,
    answers,
    request,
    handle: (event: string, handle: Handler) => handlers.set(event, handle),
    join: (role: string, name: string) =>
      request("server:join_office", { role, name, office_id: "north" }),
  };
}

async function trio() {
  const plain = plainOffices();
  const door = new InProcessDoor({
    offices: plain.offices,
    audit: (event) => void plain.audit.push(event),
    clock: { now: () => 0, date: () => 0 },
    unknownEvent: () => {},
  });
  const agent = connect(door);
  const computer = connect(door, { protocol: "0.2" });
  assertEquals(await agent.join("agent", "agent"), [true, null]);
  assertEquals(await computer.join("computer", "computer"), [true, null]);
  agent.heard.splice(0);
  return { plain, door, agent, computer };
}

Deno.test("clients in process join, call and are notified as any other (protocol §3, §5, §7)", async () => {
  const { plain, agent, computer } = await trio();
  computer.handle("client:tool_call", () => ({ content: [], echo: 1 }));
  assertEquals(await agent.request("client:tool_call", REQUEST), [
    { content: [], echo: 1 },
  ]);
  assertEquals(computer.heard, [["client:tool_call", REQUEST]]);
  assertEquals(
    await computer.request("server:update_config", { computer: "computer" }),
    [],
  );
  const pc = plain.join("computer", "pc"); // beside clients of other doors
  await agent.request("server:tool_call_cancel", {
    agent: "agent",
    req_id: "r",
  });
  assertEquals(agent.heard.map(([event]) => event), [
    "notify:update_config",
    "notify:enter_office",
    "notify:tool_call_cancel",
  ]);
  assertEquals(pc.take().map(({ event }) => event), [
    "notify:tool_call_cancel",
  ]);
  const left = await agent.request("server:leave_office", LEAVE);
  assertEquals(left, [true, null]);
});

Deno.test("neither side sees changes of the other's objects, and undefined is left out as on the wire", async () => {
  const { door, agent, computer } = await trio();
  await connect(door).join("computer", "pc");
  const [mine, theirs] = [agent, computer].map(({ heard }) => heard.pop()?.[1]);
  assertEquals(mine, theirs);
  assertEquals(mine === theirs, false, "a notification is copied for each");
  const params = { list: [1], gone: undefined };
  const result = { content: [], list: [1] };
  computer.handle("client:tool_call", (payload) => {
    Object(payload).params.list.push(2);
    return result;
  });
  const answer = agent.request("client:tool_call", { ...REQUEST, params });
  params.list.push(3);
  const [got] = await answer;
  result.list.push(4);
  assertEquals(got, { content: [], list: [1] });
  assertEquals(Object(computer.heard[0]?.[1]).params, { list: [1, 2] });
  assertEquals(params.list, [1, 3]);
  assertThrows(() => agent.end.send("x", { big: 1n }), TypeError);
});

Deno.test("messages arrive in order, and none before the function that sends it has returned (protocol §3)", async () => {
  const { agent, computer } = await trio();
  const order: string[] = [];
  computer.handle("client:tool_call", (payload) => {
    order.push(Object(payload).req_id);
    return { content: [] };
  });
  const calls = ["1", "2", "3"].map((req_id) =>
    agent.request("client:tool_call", { ...REQUEST, req_id })
      .then(() => order.push(`answer ${req_id}`))
  );
  assertEquals(order, []);
  await Promise.all(calls);
  assertEquals(order, ["1", "2", "3", "answer 1", "answer 2", "answer 3"]);
});

Deno.test("a long message from the network is parsed in pieces: what follows it waits, and others have their turn", async () => {
  const { plain, door, agent } = await trio();
  const pc = plain.join("computer", "pc", { protocol: "0.4" });
  const long = `{"content":[],"x":[${"{},".repeat(200_000)}{}]}`;
  const textOf = (text: string) =>
    new JsonText({ text, start: 0, end: text.length }, {
      large: [],
      mayBeError: false,
    });
  const ended: string[] = [];
  const call = (req_id: string) =>
    agent.request("client:tool_call", { ...REQUEST, computer: "pc", req_id })
      .then(([answer]) => {
        ended.push(req_id);
        return answer;
      });
  const calls = [call("long"), call("next"), call("last")];
  while (pc.asked.length < 3) await Promise.resolve();
  const [first, next, last] = pc.asked;
  const other = connect(door);
  agent.heard.splice(0);
  first?.answer(textOf(long));
  next?.answer(textOf('{"content":[1]}'));
  last?.answer({ content: [2] });
  const joined = other.join("computer", "other").then(() =>
    ended.push("other")
  );
  assertEquals(JSON.stringify(await calls[0]), long);
  const contents = await Promise.all(calls.slice(1));
  assertEquals(contents, [{ content: [1] }, { content: [2] }]);
  await joined;
  assertEquals(ended, ["other", "long", "next", "last"]);
  assertEquals(agent.heard.map(([event]) => event), ["notify:enter_office"]);
});

Deno.test("a client that is gone before its long message is parsed gets nothing of it", async () => {
  const { plain, agent } = await trio();
  const pc = plain.join("computer", "pc", { protocol: "0.4" });
  const answered: unknown[] = [];
  const request = { ...REQUEST, computer: "pc" };
  agent.end.send("client:tool_call", request, (args) => answered.push(args));
  while (pc.asked.length < 1) await Promise.resolve();
  const text = `{"content":[],"x":[${"{},".repeat(200_000)}{}]}`;
  pc.asked[0]?.answer(
    new JsonText({ text, start: 0, end: text.length }, {
      large: [],
      mayBeError: false,
    }),
  );
  await agent.end.close();
  await new Pace().turn(); // after all others that wait
  assertEquals(answered, []);
});

Deno.test("an empty ack is one, a second one is dropped, and so is one that nobody waits for (protocol §7)", async () => {
  const { agent, computer } = await trio();
  computer.handle("client:get_dpe", () => undefined);
  const [refused] = await agent.request("client:get_dpe", REQUEST);
  assertEquals(Object(refused).code, 400);
  const answers: unknown[] = [];
  agent.end.send("client:get_tools", REQUEST, ([first]) => answers.push(first));
  const barrier = () => computer.request("notify:barrier", {});
  await barrier();
  const twice = computer.answers.pop();
  for (const number of [1, 2]) twice?.({ number });
  await barrier();
  assertEquals(answers, [{ number: 1 }]);
  agent.end.send("client:get_tools", REQUEST, ([first]) => answers.push(first));
  await agent.request("server:leave_office", LEAVE);
  computer.answers.pop()?.({ late: true });
  await barrier();
  assertEquals(answers.map((answer) => Object(answer).code ?? answer), [
    { number: 1 },
    4103,
  ]);
});

Deno.test("the version, the role, the identity and the instance of a client in process count (protocol §5, §9, §10)", async () => {
  const { door, agent, computer } = await trio();
  const [lacking] = await agent.request("client:put_blob", {
    ...REQUEST,
    total_size: 1,
    sha256: "0".repeat(64),
  });
  assertEquals(
    Object(lacking).message,
    "computer speaks A2C-SMCP 0.2, which has no client:put_blob",
  );
  const identity = { principal: "k", policy: { names: ["x*"] } };
  assertEquals(await connect(door, { identity }).join("computer", "y"), [
    false,
    'Not allowed to join under the name "y"',
  ]);
  const asAgent = connect(door, { role: "agent" });
  assertEquals((await asAgent.join("computer", "z"))[0], false);
  const first = connect(door, { instance: "i", identity });
  await first.join("computer", "x");
  const second = connect(door, { instance: "i", identity });
  assertEquals(await second.join("computer", "x"), [true, null]);
  assertEquals(first.closed, ["its client joined with another connection"]);
  assertEquals(computer.closed, []);
});

Deno.test("a client that closes leaves its office after what it sent took effect, and gets nothing more (protocol §3, §5)", async () => {
  const { door, agent, computer } = await trio();
  const answers: unknown[] = [];
  agent.end.send("client:tool_call", REQUEST, (args) => answers.push(args));
  agent.end.send("server:tool_call_cancel", { agent: "agent", req_id: "r1" });
  agent.end.close();
  agent.end.send("server:tool_call_cancel", { agent: "agent", req_id: "r2" });
  await computer.request("notify:barrier", {});
  assertEquals(computer.heard.map(([event]) => event), [
    "client:tool_call",
    "notify:tool_call_cancel",
    "notify:leave_office",
  ]);
  assertEquals([answers, agent.heard, agent.closed], [[], [], []]);
  assertEquals(door.open.size, 1);
});

Deno.test("a door that closes ends its connections with the reason, and lets nobody in (protocol §5)", async () => {
  const { plain, door, agent, computer } = await trio();
  const drained = plain.offices.drain(0);
  assertThrows(() => connect(door), ProtocolError, "shutting down");
  await drained;
  const [late] = await agent.request("client:tool_call", REQUEST);
  assertEquals(Object(late).reason, "server shutting down");
  door.close("bye");
  await Promise.resolve();
  assertEquals([agent.closed, computer.closed], [["bye"], ["bye"]]);
  assertEquals(door.open.size, 0);
});

const DAY_MS = 24 * 60 * 60 * 1000;

Deno.test("atTime() calls back at a time, once, and not before it even when a timer fires early", () => {
  const { clock, waiting, fire } = standingClock(1000);
  let called = 0;
  atTime(4000, () => called++, clock);
  fire(1);
  assertEquals([called, clock.now(), waiting.size], [0, 3999, 1]);
  fire();
  assertEquals([called, clock.now(), waiting.size], [1, 4000, 0]);
});

Deno.test("atTime() calls back for a past or invalid time, but not synchronously", () => {
  for (const time of [0, -Infinity, NaN]) {
    const { clock, fire } = standingClock(1000);
    let called = 0;
    atTime(time, () => called++, clock);
    assertEquals(called, 0);
    fire();
    assertEquals(called, 1);
  }
});

Deno.test("atTime() waits longer than a timer can, and can be canceled at any moment", () => {
  const { clock, waiting, fire } = standingClock(0);
  let called = 0;
  const prevent = atTime(60 * DAY_MS, () => called++, clock);
  for (const [, at] of waiting) assertEquals(at, 2 ** 31 - 1);
  fire();
  fire();
  assertEquals([called, clock.now() > 49 * DAY_MS], [0, true]);
  prevent();
  assertEquals(waiting.size, 0);
  atTime(Infinity, () => called++, clock);
  assertEquals([called, waiting.size], [0, 0]);
});

Deno.test("endAtExpiry() starts no timer for a session that is gone when its identity is renewed", () => {
  const socket = Object.assign(new EventEmitter(), { connected: true });
  const identity = { principal: "key:a", policy: {}, expiresAt: Infinity };
  const session: Session = Object({ socket, identity });
  const { clock, waiting } = standingClock(0);
  const renewed = endAtExpiry(session, new Journal(), clock);
  identity.expiresAt = DAY_MS;
  renewed();
  assertEquals(waiting.size, 1);
  socket.connected = false;
  socket.emit("disconnect");
  renewed();
  assertEquals(waiting.size, 0);
});

/** A listener of this machine, whose watch looks often. */
async function startListener() {
  const server = createServer((_request, response) => response.end("ok"));
  const { hostname, port } = await listenOn(server, {});
  const { promise: lost, resolve } = Promise.withResolvers<Error>();
  const failed = lost.then((error) => {
    throw error;
  });
  failed.catch(() => {});
  const to = { server, hostname, port, lost: resolve, intervalMs: 10 };
  return {
    server,
    hostname,
    port,
    lost,
    watch: () => watchListener(to),
    /** Resolves when the listener listens again; rejects when it is lost. */
    listening() {
      const again = new Promise((resolve) => server.once("listening", resolve));
      return Promise.race([again, failed]);
    },
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}

/** Simulates a listener that accepts nothing. */
function hideConnections(server: Server): void {
  server.removeAllListeners("connection");
  server.on("connection", (socket) => socket.destroy());
}

/** Counts the attempts to listen from now on; those before the first good one fail. */
function failListening(server: Server, firstGood: number): () => number {
  const listen = server.listen.bind(server);
  let tries = 0;
  server.listen = (...args: unknown[]) => {
    if (++tries >= firstGood) return Reflect.apply(listen, server, args);
    server.emit("error", new Error("no descriptor is left"));
    return server;
  };
  return () => tries;
}

Deno.test("watchListener() does not touch a listener that accepts, with or without clients", async () => {
  await using it = await startListener();
  let listening = 0;
  it.server.on("listening", () => listening++);
  const stop = it.watch();
  // The probes, since there are no clients.
  for (let i = 0; i < 3; i++) await once(it.server, "connection");
  stop();
  assertEquals(listening, 0);
});

Deno.test("watchListener() restarts a listener that accepts nothing; open connections stay", async () => {
  await using it = await startListener();
  const { server, hostname, port } = it;
  const served = once(server, "connection");
  const client = dial(port, hostname);
  await Promise.all([once(client, "connect"), served]);
  const [http] = server.listeners("connection");
  const stop = it.watch();
  const [watch] = server.listeners("connection").slice(-1);
  const again = it.listening();
  hideConnections(server);
  await again;
  server.removeAllListeners("connection");
  for (const each of [http, watch]) {
    server.on("connection", (...args) => each?.apply(server, args));
  }
  await once(server, "connection");
  assertEquals(client.destroyed, false);
  const answer = await fetch(`http://${hostname}:${port}/`);
  assertEquals(await answer.text(), "ok");
  stop();
  client.destroy();
});

Deno.test("watchListener() tries again when the listener cannot be restarted", async () => {
  await using it = await startListener();
  const tries = failListening(it.server, 2);
  const again = it.listening();
  const stop = it.watch();
  hideConnections(it.server);
  await again;
  stop();
  assertEquals(tries(), 2);
});

Deno.test("watchListener() reports a listener that cannot be restarted, once", async () => {
  await using it = await startListener();
  const tries = failListening(it.server, 0);
  it.watch();
  hideConnections(it.server);
  const { message } = await it.lost;
  assertEquals(tries(), 3);
  assertMatch(
    message,
    /^Cannot accept connections on 127\.0\.0\.1 port \d+ any more$/,
  );
});

Deno.test("describeTlsFailure() says which side lacks what, for the codes of Node and of Deno", () => {
  const client = "the client";
  const rows: [code: string, expected: string, certificate?: string][] = [
    [
      "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE",
      `${client} sent no certificate`,
    ],
    [
      "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA",
      `${client} does not know the authority of this server's certificate`,
    ],
    [
      "ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN",
      `${client} does not accept this server's certificate`,
    ],
    ["ERR_SSL_HTTP_REQUEST", `${client} does not speak TLS`],
    ["ERR_SSL_WRONG_VERSION_NUMBER", `${client} does not speak TLS`],
    ["ERR_SSL_UNSUPPORTED_PROTOCOL", "no version or cipher of TLS"],
    ["ERR_SSL_ANYTHING", "the handshake failed (ERR_SSL_ANYTHING)"],
    ["ECONNRESET", `${client} closed the connection during the handshake`],
    ["ECONNRESET", `${client}'s certificate has expired`, "CERT_HAS_EXPIRED"],
    [
      "ECONNRESET",
      `${client}'s certificate is not accepted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`,
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    ],
  ];
  for (const [code, expected, certificate] of rows) {
    assertStringIncludes(
      describeTlsFailure({ code, ...(certificate && { certificate }) }),
      expected,
    );
  }
});
