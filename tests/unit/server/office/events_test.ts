import { assertEquals } from "@std/assert";
import {
  CANCEL_TOOL_CALL_EVENT,
  CLIENT_EVENTS,
  ErrorCode,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  LIST_ROOM_EVENT,
  ProtocolError,
  PUT_BLOB_EVENT,
  SERVER_EVENTS,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  UPDATE_CONFIG_EVENT,
  UPDATE_RESOURCES_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../../../protocol/mod.ts";
import type { LocalOffices } from "../../../../server/office/office.ts";
import type { Offices, Seat } from "../../../../server/office/peer.ts";
import { Payload } from "../../../../server/shared/payload.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { plainOffices } from "../../../support/server/plain_offices.ts";

const REQUEST = { ...ANY_REQUEST, office_id: "north" };
const codeOf = (acks: unknown[][]) => Object(acks[0]?.[0]).code;

const UPDATES = Object.entries(SERVER_EVENTS).flatMap(
  ([event, { from, notification }]) =>
    from === "computer" && notification ? [{ event, notification }] : [],
);

function trio() {
  const plain = plainOffices();
  const agent = plain.join("agent", "agent");
  const computer = plain.join("computer", "computer");
  const far = plain.join("agent", "far", { office: "south" });
  for (const each of [agent, computer, far]) each.take();
  return { plain, agent, computer, far };
}

Deno.test("each update of a Computer reaches the other members of its office alone, with known fields (spec §3, §5)", () => {
  const { plain, agent, computer, far } = trio();
  const other = plain.join("computer", "other");
  for (const each of [agent, computer]) each.take();
  assertEquals(UPDATES.length, 6);
  for (const { event, notification } of UPDATES) {
    const known = event === UPDATE_RESOURCES_EVENT
      ? { mcp_server: "files", uri: "file:///x" }
      : {};
    const payload = { computer: "computer", ...known, more: 1 };
    assertEquals(computer.send(event, payload), [[]]);
    const heard = {
      event: notification,
      payload: { computer: "computer", ...known },
    };
    for (const each of [agent, other]) assertEquals(each.take(), [heard]);
    for (const each of [computer, far]) assertEquals(each.take(), []);
  }
});

Deno.test("updates and cancels are checked in the order payload, member, role, name (spec §5)", () => {
  const { plain, agent, computer } = trio();
  const outsider = plain.connect();
  for (const { event } of UPDATES) {
    const about = (computer: unknown) => ({ computer });
    assertEquals(codeOf(outsider.send(event, about(7))), 400);
    assertEquals(codeOf(outsider.send(event, about("x"))), 4103);
    assertEquals(codeOf(agent.send(event, about("agent"))), 403);
    assertEquals(codeOf(computer.send(event, about("x"))), 403);
  }
  const cancel = { agent: "computer", req_id: "r" };
  assertEquals(codeOf(outsider.send(CANCEL_TOOL_CALL_EVENT, {})), 400);
  assertEquals(codeOf(outsider.send(CANCEL_TOOL_CALL_EVENT, cancel)), 4103);
  assertEquals(codeOf(computer.send(CANCEL_TOOL_CALL_EVENT, cancel)), 403);
  for (const each of [agent, computer]) assertEquals(each.take(), []);
});

Deno.test("list_room is checked in the order payload, member, role, agent, office; 4104 is audited (spec §5)", () => {
  const plain = plainOffices();
  const identity = { principal: "k", policy: { names: ["agent"] } };
  const agent = plain.join("agent", "agent", { identity });
  const computer = plain.join("computer", "computer");
  const outsider = plain.connect();
  const wrong = { agent: "x", req_id: "r", office_id: "south" };
  const rows = [
    [outsider, { ...wrong, req_id: 1 }, 400],
    [outsider, wrong, 4103],
    [computer, wrong, 403],
    [agent, wrong, 403],
    [agent, { ...wrong, agent: "agent" }, 4104],
  ] as const;
  for (const [client, request, code] of rows) {
    assertEquals(codeOf(client.send(LIST_ROOM_EVENT, request)), code);
  }
  const line = plain.audit.at(-1);
  assertEquals([line?.event, Object(line).request, Object(line).office], [
    "access_refused",
    LIST_ROOM_EVENT,
    "north",
  ]);
});

Deno.test("only members act: every event of a client that never joined, or left, is 4103 (spec §5)", () => {
  const { plain, agent, computer } = trio();
  for (const each of [agent, computer]) {
    each.send(LEAVE_OFFICE_EVENT, { office_id: "north" });
  }
  const events = [
    ...Object.keys(CLIENT_EVENTS).filter((event) => event !== PUT_BLOB_EVENT),
    ...Object.entries(SERVER_EVENTS).filter(([, { ack }]) => ack !== "office")
      .map(([event]) => event),
  ];
  assertEquals(events.length, 23);
  for (const event of events) {
    for (const client of [agent, computer, plain.connect()]) {
      assertEquals(codeOf(client.send(event, REQUEST)), 4103, event);
    }
  }
});

Deno.test("unknown events are 400 and noted; a client's own notify: is ignored, with an empty ack (spec §3)", () => {
  const { plain, agent, computer } = trio();
  const odd = ["client:nope", "server:nope", "hello", "", "__proto__"];
  for (const event of odd) {
    assertEquals(agent.send(event, {}), [[{
      code: 400,
      message: `Unknown event ${JSON.stringify(event)}`,
    }]]);
  }
  assertEquals(codeOf(agent.send(PUT_BLOB_EVENT, {})), 400, "of 0.4");
  assertEquals(plain.unknown, [...odd, PUT_BLOB_EVENT]);
  assertEquals(computer.send("notify:update_config", { computer: "x" }), [[]]);
  assertEquals(agent.take(), []);
});

Deno.test("events take effect without an ack, too, and their errors harm nobody (spec §3)", () => {
  const { plain, agent } = trio();
  const { connection } = plain.connect();
  const send = (event: string, value: unknown) =>
    connection.receive(event, Payload.of(value));
  send(JOIN_OFFICE_EVENT, { role: "computer", name: "c", office_id: "north" });
  send(UPDATE_CONFIG_EVENT, { computer: "c" });
  assertEquals(agent.take().length, 2);
  for (const event of [UPDATE_CONFIG_EVENT, TOOL_CALL_EVENT, "x:y"]) {
    send(event, { computer: "x" });
  }
  send(LEAVE_OFFICE_EVENT, { office_id: "north" });
  assertEquals(agent.take().length, 1);
});

Deno.test("Connection.refuse() answers in the form of the event's ack (spec §3)", () => {
  const { agent } = trio();
  const error = new ProtocolError(ErrorCode.TOO_MANY_REQUESTS, "slow down");
  const answerTo = (event: string) => {
    const answers: unknown[] = [];
    agent.connection.refuse(event, error, (answer) => answers.push(answer));
    return answers[0];
  };
  for (const event of [JOIN_OFFICE_EVENT, LEAVE_OFFICE_EVENT]) {
    assertEquals(answerTo(event), [false, "slow down"]);
  }
  for (const event of [TOOL_CALL_EVENT, UPDATE_TOOL_LIST_EVENT, "x"]) {
    assertEquals(Object(answerTo(event)).parse(), error.toPayload());
  }
});

/** Offices that answer joins when the test says so, as another node does. */
function slowOffices() {
  const waiting: (() => void)[] = [];
  const elsewhere = (local: LocalOffices): Offices => ({
    get isClosed() {
      return local.isClosed;
    },
    drain: (graceMs) => local.drain(graceMs),
    join: (peer, wanted, former) => {
      const { promise, resolve, reject } = Promise.withResolvers<
        Seat | { refused: string }
      >();
      waiting.push(() => {
        if (wanted.name === "broken") reject(new Error("secret"));
        else resolve(local.join(peer, wanted, former));
      });
      return promise;
    },
  });
  const plain = plainOffices({ elsewhere });
  /** Answers the next join, and waits until what came after it is done. */
  const answer = async () => {
    waiting.shift()?.();
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };
  return { plain, waiting, answer };
}

Deno.test("while a join waits for another node, later events wait for it, in order; progress does not (spec §3)", async () => {
  const { plain, waiting, answer } = slowOffices();
  const client = plain.connect();
  const join = (office_id: string) =>
    client.send(JOIN_OFFICE_EVENT, { role: "computer", name: "pc", office_id });
  const first = join("north");
  const update = client.send(UPDATE_CONFIG_EVENT, { computer: "pc" });
  const unknown = client.send("notify:barrier");
  const second = join("south");
  const after = client.send(UPDATE_CONFIG_EVENT, { computer: "pc" });
  assertEquals([first, update, unknown, second, after], [[], [], [], [], []]);
  const progress = { ...REQUEST, agent: "a", computer: "pc" };
  assertEquals(codeOf(client.send(TOOL_CALL_PROGRESS_EVENT, progress)), 4103);
  await answer();
  assertEquals([first, update, unknown], [[[true, null]], [[]], [[]]]);
  assertEquals([second, after, waiting.length], [[], [], 1]);
  assertEquals(plain.offices.find("north")?.members.length, 1);
  await answer();
  assertEquals([second, after], [[[true, null]], [[]]]);
  assertEquals(plain.offices.find("north"), undefined);
  assertEquals(plain.offices.find("south")?.members.length, 1);
});

Deno.test("a client that is gone while its join waits leaves no member behind; its earlier cancel still counts (spec §3)", async () => {
  const { plain, answer } = slowOffices();
  const watcher = plain.connect();
  watcher.join("computer", "pc");
  await answer();
  const client = plain.connect();
  const acks = [
    client.send(JOIN_OFFICE_EVENT, {
      role: "agent",
      name: "a",
      office_id: "north",
    }),
    client.send(TOOL_CALL_EVENT, { ...REQUEST, computer: "pc" }),
    client.send(CANCEL_TOOL_CALL_EVENT, { agent: "a", req_id: "r" }),
  ];
  client.vanish();
  await answer();
  assertEquals(watcher.take().map(({ event }) => event), [
    "notify:enter_office",
    "notify:tool_call_cancel",
    "notify:leave_office",
  ]);
  assertEquals([acks, watcher.asked], [[[], [], []], []]);
  assertEquals(plain.offices.find("north")?.members.length, 1);
});

Deno.test("while a join waits, one event of any size may follow, then as many as fit into a MiB (spec §3)", async () => {
  class Sized extends Payload {
    readonly isObject = true;
    readonly mayBeError = false;
    constructor(readonly size: number) {
      super();
    }
    parse = () => ({ computer: "pc" });
    peek = this.parse;
  }
  const sizes = [[2 ** 30], [2 ** 19, 2 ** 19 - 512]];
  for (const fitting of sizes) {
    const { plain, answer } = slowOffices();
    const client = plain.connect();
    client.join("computer", "pc");
    const update = (size: number) =>
      client.connection.receive(UPDATE_CONFIG_EVENT, new Sized(size));
    for (const size of fitting) update(size);
    assertEquals(client.ended, []);
    update(1);
    assertEquals(client.ended, ["too much arrived while its join waits"]);
    await answer();
  }
});

Deno.test("a join that another node fails is refused without details, and a later one may succeed (spec §6)", async () => {
  const { plain, answer } = slowOffices();
  const client = plain.connect();
  const join = (name: string) =>
    client.send(JOIN_OFFICE_EVENT, {
      ...{ role: "agent", name, office_id: "north" },
    });
  const broken = join("broken");
  await answer();
  assertEquals(broken, [[false, "Internal error"]]);
  const fine = join("fine");
  await answer();
  assertEquals(fine, [[true, null]]);
});

Deno.test("depart() leaves after all earlier events, and then closes the connection (spec §10)", async () => {
  const { plain, answer } = slowOffices();
  const client = plain.connect();
  const done: string[] = [];
  client.join("agent", "a");
  client.connection.depart(() => done.push("closed"));
  assertEquals(done, []);
  await answer();
  assertEquals([done, client.connection.held], [["closed"], undefined]);
  client.connection.depart(() => done.push("again"));
  assertEquals(done, ["closed", "again"]);
});
