import { assertEquals, assertThrows } from "@std/assert";
import {
  CLIENT_EVENTS,
  ErrorCode,
  ProtocolError,
  SERVER_EVENTS,
} from "../../../../protocol/mod.ts";
import { checkAccess } from "../../../../server/office/members.ts";
import type { LocalOffices } from "../../../../server/office/office.ts";
import type { Offices, Seat, Seated } from "../../../../server/office/peer.ts";
import type { Policy } from "../../../../server/shared/identity.ts";
import { Payload } from "../../../../server/shared/payload.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { plainOffices } from "../../../support/server/plain_offices.ts";

const REQUEST = { ...ANY_REQUEST, office_id: "north", devices: [] };
const codeOf = (acks: unknown[][]) => Object(acks[0]?.[0]).code;

const UPDATES = Object.entries(SERVER_EVENTS).flatMap(
  ([event, { from, notification }]) =>
    from === "computer" && notification ? [{ event, notification }] : [],
);

const seated: Seated = {
  role: "agent",
  name: "planner",
  office: "north",
  peer: Object({}),
};

function trio() {
  const plain = plainOffices();
  const agent = plain.join("agent", "agent");
  const computer = plain.join("computer", "computer");
  const far = plain.join("agent", "far", { office: "south" });
  for (const each of [agent, computer, far]) each.take();
  return { plain, agent, computer, far };
}

Deno.test("checkAccess() checks role, name and office in this order, and never reveals which other offices exist (protocol §5)", () => {
  const rows: [Partial<Seated>, Policy | undefined, object, unknown][] = [
    [{}, undefined, {}, undefined],
    [{}, undefined, { office: "north" }, undefined],
    [{}, undefined, { role: "computer", name: "x", office: "south" }, 403],
    [{}, { names: ["plan*"] }, { name: "x", office: "south" }, 403],
    [{}, undefined, { office: "south" }, 4104],
    // The exact name is required of Computers, and of Agents whose credentials restrict names.
    ...[undefined, {}, { offices: ["north"] }, { names: ["*"] }]
      .map((policy): typeof rows[0] => [{}, policy, { name: "x" }, undefined]),
    ...[["planner"], ["*n*"], ["x", "planner"], []]
      .map((names): typeof rows[0] => [{}, { names }, { name: "x" }, 403]),
    [{ role: "computer" }, undefined, { role: "computer", name: "x" }, 403],
    [{ role: "computer" }, undefined, { role: "computer" }, undefined],
    // Operators ask what Agents may, and nothing else.
    [{ role: "operator" }, undefined, { name: "x" }, undefined],
    [{ role: "operator" }, undefined, { role: "computer" }, 403],
  ];
  const errorOf = ([seat, policy, wanted]: typeof rows[0]) => {
    try {
      const identity = policy && { principal: "key:a", policy };
      checkAccess(
        { ...seated, peer: Object({ identity }), ...seat },
        { role: "agent", name: "planner", ...wanted },
      );
    } catch (error) {
      return error as ProtocolError;
    }
  };
  for (const row of rows) {
    const error = errorOf(row);
    assertEquals(error?.code, row[3], JSON.stringify(row));
    const told = JSON.stringify(error?.toPayload() ?? {});
    assertEquals(told.includes("south"), false);
  }
  for (const role of ["agent", "computer"] as const) {
    const other = role === "agent" ? "computer" : "agent";
    assertThrows(
      () => checkAccess({ ...seated, role: other }, { ...seated, role }),
      ProtocolError,
      `Only ${role === "agent" ? "an" : "a"} ${role} may send this event`,
    );
  }
});

Deno.test("each update of a Computer reaches the other members of its office alone, with known fields (protocol §3, §5)", () => {
  const { plain, agent, computer, far } = trio();
  const other = plain.join("computer", "other");
  for (const each of [agent, computer]) each.take();
  assertEquals(UPDATES.length, 6);
  for (const { event, notification } of UPDATES) {
    const known = event === "server:update_resources"
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

Deno.test("updates and cancels are checked in the order payload, member, role, name (protocol §5)", () => {
  const { plain, agent, computer } = trio();
  const outsider = plain.connect();
  const held = plain.join("agent", "held", {
    office: "west",
    identity: { principal: "k", policy: { names: ["held"] } },
  });
  for (const { event } of UPDATES) {
    const about = (computer: unknown) => ({ computer });
    assertEquals(codeOf(outsider.send(event, about(7))), 400);
    assertEquals(codeOf(outsider.send(event, about("x"))), 4103);
    assertEquals(codeOf(agent.send(event, about("agent"))), 403);
    assertEquals(codeOf(computer.send(event, about("x"))), 403);
  }
  const cancel = { agent: "computer", req_id: "r" };
  assertEquals(codeOf(outsider.send("server:tool_call_cancel", {})), 400);
  assertEquals(codeOf(outsider.send("server:tool_call_cancel", cancel)), 4103);
  assertEquals(codeOf(computer.send("server:tool_call_cancel", cancel)), 403);
  assertEquals(codeOf(held.send("server:tool_call_cancel", cancel)), 403);
  for (const each of [agent, computer, held]) assertEquals(each.take(), []);
});

Deno.test("list_room is checked in the order payload, member, role, agent, office; 4104 is audited (protocol §5)", () => {
  const plain = plainOffices();
  const identity = { principal: "k", policy: { names: ["agent"] } };
  const agent = plain.join("agent", "agent", { identity });
  const computer = plain.join("computer", "computer");
  const outsider = plain.connect();
  const wrong = { agent: "x", req_id: "r", office_id: "south" };
  const rows = [
    [outsider, { ...wrong, req_id: 1 }, 400],
    [outsider, wrong, 4103],
    [agent, { ...wrong, req_id: 1 }, 400],
    [computer, wrong, 403],
    [agent, wrong, 403],
    [agent, { ...wrong, agent: "agent" }, 4104],
  ] as const;
  for (const [client, request, code] of rows) {
    assertEquals(codeOf(client.send("server:list_room", request)), code);
  }
  const line = plain.audit.at(-1);
  assertEquals([line?.event, Object(line).request, Object(line).office], [
    "access_refused",
    "server:list_room",
    "north",
  ]);
  // An invalid payload is no attempt to reach anything.
  const codes = plain.audit.filter(({ event }) => event === "access_refused")
    .map((line) => Object(line).code);
  assertEquals(codes, [403, 403, 4104]);
});

Deno.test("only members act: every event of a client that never joined, or left, is 4103 (protocol §5)", () => {
  const { plain, agent, computer } = trio();
  for (const each of [agent, computer]) {
    each.send("server:leave_office", { office_id: "north" });
  }
  const events = [
    ...Object.keys(CLIENT_EVENTS).filter((event) =>
      event !== "client:put_blob"
    ),
    ...Object.entries(SERVER_EVENTS).filter(([, { ack }]) => ack !== "office")
      .map(([event]) => event),
  ];
  assertEquals(events.length, 27);
  for (const event of events) {
    for (const client of [agent, computer, plain.connect()]) {
      assertEquals(codeOf(client.send(event, REQUEST)), 4103, event);
    }
  }
});

Deno.test("unknown events are 400 and noted; a client's own notify: is ignored, with an empty ack (protocol §3)", () => {
  const { plain, agent, computer } = trio();
  const odd = [
    ...["client:nope", "server:nope", "hello", "", "__proto__", "toString"],
    ...["client:tool_call ", "CLIENT:tool_call"],
  ];
  for (const event of odd) {
    assertEquals(agent.send(event, {}), [[{
      code: 400,
      message: `Unknown event ${JSON.stringify(event)}`,
    }]]);
  }
  assertEquals(codeOf(agent.send("client:put_blob", {})), 400, "of 0.4");
  assertEquals(plain.unknown, [...odd, "client:put_blob"]);
  assertEquals(computer.send("notify:update_config", { computer: "x" }), [[]]);
  assertEquals(agent.take(), []);
});

Deno.test("events take effect without an ack, too, and their errors harm nobody (protocol §3)", () => {
  const { plain, agent, computer } = trio();
  agent.connection.receive("client:tool_call", Payload.of(REQUEST));
  assertEquals(computer.asked.map(({ payload }) => payload), [REQUEST]);
  const { connection } = plain.connect();
  const send = (event: string, value: unknown) =>
    connection.receive(event, Payload.of(value));
  send("server:join_office", {
    role: "computer",
    name: "c",
    office_id: "north",
  });
  send("server:update_config", { computer: "c" });
  assertEquals(agent.take().length, 2);
  for (const event of ["server:update_config", "client:tool_call", "x:y"]) {
    send(event, { computer: "x" });
  }
  send("server:leave_office", { office_id: "north" });
  assertEquals(agent.take().length, 1);
});

Deno.test("OfficeClient.refuse() answers in the form of the event's ack (protocol §3)", () => {
  const { agent } = trio();
  const error = new ProtocolError(ErrorCode.TOO_MANY_REQUESTS, "slow down");
  const answerTo = (event: string) => {
    const answers: unknown[] = [];
    agent.connection.refuse(event, error, (answer) => answers.push(answer));
    return answers[0];
  };
  for (const event of ["server:join_office", "server:leave_office"]) {
    assertEquals(answerTo(event), [false, "slow down"]);
  }
  for (const event of ["client:tool_call", "server:update_tool_list", "x"]) {
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

Deno.test("while a join waits for another node, later events wait for it, in order; progress does not (protocol §3)", async () => {
  const { plain, waiting, answer } = slowOffices();
  const client = plain.connect();
  const join = (office_id: string) =>
    client.send("server:join_office", {
      role: "computer",
      name: "pc",
      office_id,
    });
  const first = join("north");
  const update = client.send("server:update_config", { computer: "pc" });
  const unknown = client.send("notify:barrier");
  const second = join("south");
  const after = client.send("server:update_config", { computer: "pc" });
  assertEquals([first, update, unknown, second, after], [[], [], [], [], []]);
  const progress = { ...REQUEST, agent: "a", computer: "pc" };
  assertEquals(
    codeOf(client.send("server:tool_call_progress", progress)),
    4103,
  );
  await answer();
  assertEquals([first, update, unknown], [[[true, null]], [[]], [[]]]);
  assertEquals([second, after, waiting.length], [[], [], 1]);
  assertEquals(plain.offices.find("north")?.members.length, 1);
  await answer();
  assertEquals([second, after], [[[true, null]], [[]]]);
  assertEquals(plain.offices.find("north"), undefined);
  assertEquals(plain.offices.find("south")?.members.length, 1);
});

Deno.test("a client that is gone while its join waits leaves no member behind; its earlier cancel still counts (protocol §3)", async () => {
  const { plain, answer } = slowOffices();
  const watcher = plain.connect();
  watcher.join("computer", "pc");
  await answer();
  const client = plain.connect();
  const acks = [
    client.send("server:join_office", {
      role: "agent",
      name: "a",
      office_id: "north",
    }),
    client.send("client:tool_call", { ...REQUEST, computer: "pc" }),
    client.send("server:tool_call_cancel", { agent: "a", req_id: "r" }),
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

Deno.test("while a join waits, one event of any size may follow, then as many as fit into a MiB (protocol §3)", async () => {
  const sizes = [[2 ** 30], [2 ** 19, 2 ** 19 - 512]];
  for (const fitting of sizes) {
    const { plain, answer } = slowOffices();
    const client = plain.connect();
    client.join("computer", "pc");
    const update = (size: number) =>
      client.connection.receive("client:tool_call", Payload.unread(size));
    for (const size of fitting) update(size);
    assertEquals(client.ended, []);
    update(1);
    assertEquals(client.ended, ["too much arrived while its join waits"]);
    await answer();
  }
});

Deno.test("a join that another node fails is refused without details, and a later one may succeed (protocol §6)", async () => {
  const { plain, answer } = slowOffices();
  const client = plain.connect();
  const join = (name: string) =>
    client.send("server:join_office", {
      role: "agent",
      name,
      office_id: "north",
    });
  const broken = join("broken");
  await answer();
  assertEquals(broken, [[false, "Internal error"]]);
  const fine = join("fine");
  await answer();
  assertEquals(fine, [[true, null]]);
});

Deno.test("depart() leaves after all earlier events, and then closes the connection (protocol §10)", async () => {
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
