import { assertEquals } from "@std/assert";
import {
  ENTER_OFFICE_NOTIFICATION,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  LIST_ROOM_EVENT,
} from "../../../../protocol/mod.ts";
import {
  type PlainClient,
  plainOffices,
} from "../../../support/server/plain_offices.ts";

const enters = (fields: object, office_id = "north") => ({
  event: ENTER_OFFICE_NOTIFICATION,
  payload: { office_id, ...fields },
});
const leaves = (fields: object, office_id = "north") => ({
  event: LEAVE_OFFICE_NOTIFICATION,
  payload: { office_id, ...fields },
});
const namesOf = (
  { offices }: ReturnType<typeof plainOffices>,
  office: string,
) => offices.find(office)?.members.map(({ role, name }) => `${role} ${name}`);

const listOf = (agent: PlainClient) => {
  const [[answer] = []] = agent.send(LIST_ROOM_EVENT, {
    agent: "a",
    req_id: "l",
    office_id: "north",
  });
  return answer;
};

Deno.test("Office: one Agent, and one Computer of a name; the reasons are those of the spec (spec §5)", () => {
  const plain = plainOffices();
  plain.join("agent", "a");
  plain.join("computer", "pc");
  assertEquals(plain.connect().join("agent", "b"), [
    false,
    "Room already has an agent",
  ]);
  assertEquals(plain.connect().join("computer", "pc"), [
    false,
    'Computer "pc" already exists in the room',
  ]);
  plain.join("computer", "pc", { office: "south" });
  assertEquals(namesOf(plain, "north"), ["agent a", "computer pc"]);
  assertEquals(namesOf(plain, "south"), ["computer pc"]);
});

Deno.test("Office: joining the own office again succeeds and notifies nobody; another name, office or role is refused (spec §5)", () => {
  const plain = plainOffices();
  const agent = plain.join("agent", "a");
  const pc = plain.join("computer", "pc");
  agent.take();
  assertEquals(agent.join("agent", "a"), [true, null]);
  assertEquals(pc.join("computer", "pc"), [true, null]);
  assertEquals([...agent.take(), ...pc.take()], []);
  assertEquals(agent.join("agent", "b"), [
    false,
    'Cannot join under another name: this connection is in the office as "a"',
  ]);
  assertEquals(agent.join("agent", "a", "south"), [
    false,
    "Cannot join a second office: an agent is in one office at a time, leave the other first",
  ]);
  assertEquals(pc.join("agent", "a", "south"), [
    false,
    "Cannot join as agent: the role of this connection is computer",
  ]);
  assertEquals(plain.connect({ role: "agent" }).join("computer", "x"), [
    false,
    "Cannot join as computer: the role of this connection is agent",
  ]);
});

Deno.test("Office: the role stays fixed after leaving; the seat is free again (spec §5)", () => {
  const plain = plainOffices();
  const agent = plain.join("agent", "a");
  assertEquals(agent.send(LEAVE_OFFICE_EVENT, { office_id: "north" }), [
    [true, null],
  ]);
  assertEquals(agent.send(LEAVE_OFFICE_EVENT, { office_id: "north" }), [
    [false, "Not in an office"],
  ]);
  assertEquals(agent.join("computer", "pc")?.[0], false);
  assertEquals(plain.offices.find("north"), undefined, "forgotten when empty");
  assertEquals(agent.join("agent", "z", "south"), [true, null]);
});

Deno.test("Office: a Computer that switches leaves its office first, and stays where its name is taken (spec §5)", () => {
  const plain = plainOffices();
  const [north, south] = [
    plain.join("agent", "n"),
    plain.join("agent", "s", { office: "south" }),
  ];
  plain.join("computer", "pc", { office: "south" });
  const mover = plain.join("computer", "pc");
  for (const each of [north, south]) each.take();
  assertEquals(mover.join("computer", "pc", "south")?.[0], false);
  assertEquals([north.take(), south.take()], [[], []]);
  assertEquals(mover.join("computer", "pc2", "south"), [true, null]);
  assertEquals(north.take(), [leaves({ computer: "pc" })]);
  assertEquals(south.take(), [enters({ computer: "pc2" }, "south")]);
  const lines = plain.audit.slice(-2).map(({ event, ...line }) => [
    event,
    Object(line).office,
  ]);
  assertEquals(lines, [["left", "north"], ["joined", "south"]]);
});

Deno.test("Office: everybody but the cause is notified, with one name each; members are listed in order (spec §3, §4)", () => {
  const plain = plainOffices();
  const pc = plain.join("computer", "pc", { id: "p" });
  const agent = plain.join("agent", "a", { id: "q", version: "0.2.7" });
  plain.join("computer", "tv", { id: "r" });
  assertEquals(pc.take(), [enters({ agent: "a" }), enters({ computer: "tv" })]);
  assertEquals(agent.take(), [enters({ computer: "tv" })]);
  const member = (
    sid: string,
    name: string,
    role: string,
    version: string,
  ) => ({
    ...{ sid, name, role, office_id: "north", a2c_version: version },
  });
  assertEquals(listOf(agent), {
    sessions: [
      member("q", "a", "agent", "0.2.7"),
      member("p", "pc", "computer", "0.2.0"),
      member("r", "tv", "computer", "0.2.0"),
    ],
    req_id: "l",
  });
  agent.vanish();
  assertEquals(pc.take(), [leaves({ agent: "a" })]);
  assertEquals(agent.take(), []);
});

Deno.test("Office: the same instance and principal takes a seat over: leave, end, enter, in one step (spec §9)", () => {
  const plain = plainOffices({ membersPerOffice: 2 });
  const identity = { principal: "key" };
  const me = { instance: "i", identity };
  const agent = plain.join("agent", "before", me);
  const pc = plain.join("computer", "pc", me);
  agent.take();
  for (
    const other of [{}, { instance: "i" }, { instance: "j", identity }, {
      instance: "i",
      identity: { principal: "other" },
    }]
  ) {
    assertEquals(plain.connect(other).join("computer", "pc")?.[0], false);
  }
  const back = plain.join("computer", "pc", me);
  assertEquals(pc.ended, [
    "replaced: its client joined with another connection",
  ]);
  assertEquals(agent.take(), [
    leaves({ computer: "pc" }),
    enters({ computer: "pc" }),
  ]);
  assertEquals([pc.connection.held, back.connection.held?.name], [
    undefined,
    "pc",
  ]);
  const again = plain.join("agent", "after", me);
  assertEquals(back.take(), [
    leaves({ agent: "before" }),
    enters({ agent: "after" }),
  ]);
  agent.vanish(); // late
  assertEquals([again.connection.held?.name, back.take()], ["after", []]);
  assertEquals(
    plain.audit.filter(({ event }) => event === "left")
      .map((line) => Object(line).reason),
    Array(2).fill("its seat was taken over"),
  );
});

Deno.test("Office: a full office refuses, counts it, and lets a seat be taken over (spec §10)", () => {
  const plain = plainOffices({ membersPerOffice: 1 });
  plain.join("computer", "pc", { instance: "i" });
  assertEquals(plain.connect().join("agent", "a"), [
    false,
    "Room is full: it has as many members as this server allows",
  ]);
  assertEquals(plain.hits, ["membersPerOffice"]);
  plain.join("computer", "pc", { instance: "i" });
  assertEquals(namesOf(plain, "north"), ["computer pc"]);
});

Deno.test("Connection: join and leave answer (false, reason) to any payload, and every refusal is audited (spec §3, §10)", () => {
  const plain = plainOffices();
  const client = plain.connect({ identity: { principal: "key" } });
  const bad = [
    undefined,
    null,
    [],
    "office",
    {},
    { role: "boss", name: "a", office_id: "o" },
    { role: "agent", name: "a\n", office_id: "o" },
    { role: "agent", name: "a", office_id: "x".repeat(257) },
  ];
  for (const event of ["server:join_office", "server:leave_office"]) {
    for (const payload of bad) {
      const [ack = [], ...more] = client.send(event, payload);
      assertEquals([ack.length, ack[0], typeof ack[1], more], [
        2,
        false,
        "string",
        [],
      ]);
    }
  }
  assertEquals(
    plain.audit.map(({ event }) => event),
    bad.map(() => "join_refused"),
  );
  assertEquals(Object(plain.audit[0]).principal, "key");
});

Deno.test("Connection: credentials are asked at every join: roles, offices, names, expiry (spec §10)", () => {
  const plain = plainOffices();
  const rows: [object, string][] = [
    [
      { policy: { roles: ["computer"] } },
      "Not allowed to join as agent: the credentials are for computer",
    ],
    [{ policy: { offices: ["s*"] } }, "Not allowed to join this office"],
    [
      { policy: { names: ["b"] } },
      'Not allowed to join under the name "a"',
    ],
    [
      { expiresAt: 1_000_000 },
      "The credentials have expired: connect again with new ones",
    ],
  ];
  for (const [more, reason] of rows) {
    const identity = { principal: "key", ...more };
    assertEquals(plain.connect({ identity }).join("agent", "a"), [
      false,
      reason,
    ]);
  }
  assertEquals([...plain.offices], []);
});

Deno.test("Connection: naming another office to leave changes nothing, and is audited as 4104 (spec §5)", () => {
  const plain = plainOffices();
  const pc = plain.join("computer", "pc");
  assertEquals(pc.send(LEAVE_OFFICE_EVENT, { office_id: "south" }), [
    [false, "Cannot leave an office that you are not in"],
  ]);
  assertEquals(namesOf(plain, "north"), ["computer pc"]);
  const line = plain.audit.at(-1);
  assertEquals([line?.event, Object(line).code], ["access_refused", 4104]);
});
