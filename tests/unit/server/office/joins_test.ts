import { assertEquals } from "@std/assert";
import {
  type PlainClient,
  plainOffices,
} from "../../../support/server/plain_offices.ts";

const LEAVE = "server:leave_office";

const enters = (fields: object, office_id = "north") => ({
  event: "notify:enter_office",
  payload: { office_id, ...fields },
});
const leaves = (fields: object, office_id = "north") => ({
  event: "notify:leave_office",
  payload: { office_id, ...fields },
});
const namesOf = (
  { offices }: ReturnType<typeof plainOffices>,
  office: string,
) => offices.find(office)?.members.map(({ role, name }) => `${role} ${name}`);

const leave = (client: PlainClient, office_id = "north") =>
  client.send(LEAVE, { office_id })[0];

Deno.test("Office: one Agent, and one Computer of a name; the reasons are those of the spec (protocol §5)", () => {
  const plain = plainOffices();
  const agent = plain.join("agent", "a");
  plain.join("computer", "pc");
  const other = plain.connect();
  assertEquals(other.join("agent", "b"), [false, "Room already has an agent"]);
  assertEquals(plain.connect().join("computer", "pc"), [
    false,
    'Computer "pc" already exists in the room',
  ]);
  plain.join("computer", "pc", { office: "south" });
  assertEquals(namesOf(plain, "north"), ["agent a", "computer pc"]);
  assertEquals(namesOf(plain, "south"), ["computer pc"]);
  leave(agent);
  assertEquals(other.join("agent", "b"), [true, null]);
});

Deno.test("Office: joining the own office again succeeds and notifies nobody; another name, office or role is refused (protocol §5)", () => {
  const plain = plainOffices();
  const agent = plain.join("agent", "a");
  const pc = plain.join("computer", "pc");
  const declared = plain.connect({ role: "agent" });
  agent.take();
  const renamed = (name: string) =>
    `Cannot join under another name: this connection is in the office as "${name}"`;
  const refusals: [unknown[] | undefined, reason: string][] = [
    [agent.join("agent", "b"), renamed("a")],
    [pc.join("computer", "pc2"), renamed("pc")],
    [
      agent.join("agent", "a", "south"),
      "Cannot join a second office: an agent is in one office at a time, leave the other first",
    ],
    [
      pc.join("agent", "a", "south"),
      "Cannot join as agent: the role of this connection is computer",
    ],
    [
      declared.join("computer", "x"),
      "Cannot join as computer: the role of this connection is agent",
    ],
  ];
  for (const [ack, reason] of refusals) assertEquals(ack, [false, reason]);
  assertEquals(agent.join("agent", "a"), [true, null]);
  assertEquals(pc.join("computer", "pc"), [true, null]);
  assertEquals([...agent.take(), ...pc.take()], []);
});

Deno.test("Office: the role stays fixed after leaving; the seat is free again (protocol §5)", () => {
  const plain = plainOffices();
  const agent = plain.join("agent", "a");
  assertEquals(leave(agent), [true, null]);
  assertEquals(leave(agent), [false, "Not in an office"]);
  assertEquals(agent.join("computer", "pc")?.[0], false);
  assertEquals(plain.offices.find("north"), undefined, "forgotten when empty");
  assertEquals(agent.join("agent", "z", "south"), [true, null]);
});

Deno.test("Office: a Computer that switches leaves its office first, and stays where its name is taken (protocol §5)", () => {
  const plain = plainOffices();
  const north = plain.join("agent", "n");
  const south = plain.join("agent", "s", { office: "south" });
  plain.join("computer", "pc", { office: "south" });
  const mover = plain.join("computer", "pc");
  for (const each of [north, south]) each.take();
  assertEquals(mover.join("computer", "pc", "south")?.[0], false);
  assertEquals([north.take(), south.take()], [[], []]);
  assertEquals(mover.join("computer", "pc2", "south"), [true, null]);
  assertEquals(north.take(), [leaves({ computer: "pc" })]);
  assertEquals(south.take(), [enters({ computer: "pc2" }, "south")]);
  plain.join("computer", "late");
  assertEquals(mover.take(), [], "nothing of the old office");
  const lines = plain.audit.slice(-3)
    .map((line) => [line.event, Object(line).office]);
  assertEquals(lines, [
    ["left", "north"],
    ["joined", "south"],
    ["joined", "north"],
  ]);
});

Deno.test("Office: everybody but the cause is notified, with one name each; members are listed in order, without their instances (protocol §3, §4, §9)", () => {
  const plain = plainOffices();
  const pc = plain.join("computer", "pc", { id: "p", instance: "secret" });
  const agent = plain.join("agent", "a", { id: "q", version: "0.2.7" });
  plain.join("computer", "tv", { id: "r" });
  assertEquals(pc.take(), [enters({ agent: "a" }), enters({ computer: "tv" })]);
  assertEquals(agent.take(), [enters({ computer: "tv" })]);
  const member = (
    sid: string,
    name: string,
    role: string,
    a2c_version = "0.2.0",
  ) => ({ sid, name, role, office_id: "north", a2c_version });
  const list = { agent: "a", req_id: "l", office_id: "north" };
  assertEquals(agent.send("server:list_room", list), [[{
    sessions: [
      member("q", "a", "agent", "0.2.7"),
      member("p", "pc", "computer"),
      member("r", "tv", "computer"),
    ],
    req_id: "l",
  }]]);
  agent.vanish();
  assertEquals(pc.take(), [leaves({ agent: "a" })]);
  assertEquals(agent.take(), []);
});

Deno.test("Office: the same instance and principal takes a seat over: leave, end, enter, in one step (protocol §9)", () => {
  const plain = plainOffices({ membersPerOffice: 2 });
  const identity = { principal: "key" };
  const me = { instance: "i", identity };
  const agent = plain.join("agent", "before", me);
  const pc = plain.join("computer", "pc", me);
  agent.take();
  const strangers = [
    {},
    { instance: "i" },
    { instance: "j", identity },
    { instance: "i", identity: { principal: "other" } },
  ];
  for (const other of strangers) {
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
  assertEquals(pc.connection.held, undefined);
  assertEquals(back.connection.held?.name, "pc");
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

Deno.test("Office: a full office refuses, counts it, and lets a seat be taken over (protocol §10)", () => {
  const plain = plainOffices({ membersPerOffice: 1 });
  const pc = plain.join("computer", "pc", { instance: "i" });
  const other = plain.connect();
  assertEquals(other.join("agent", "a"), [
    false,
    "Room is full: it has as many members as this server allows",
  ]);
  assertEquals(plain.hits, ["membersPerOffice"]);
  const back = plain.join("computer", "pc", { instance: "i" });
  assertEquals(pc.ended.length, 1);
  assertEquals(namesOf(plain, "north"), ["computer pc"]);
  leave(back);
  assertEquals(other.join("agent", "a"), [true, null]);
});

Deno.test("Connection: join and leave answer (false, reason) to any payload, and every refusal is audited (protocol §3, §10)", () => {
  const plain = plainOffices();
  const client = plain.connect({ identity: { principal: "key" } });
  const long = "x".repeat(257);
  const seat = { role: "agent", name: "a", office_id: "o" };
  const bad = [
    ...[undefined, null, [], "office", {}],
    ...[{ role: "boss" }, { name: "" }, { name: 7 }, { name: long }, {
      name: "\ud800",
    }]
      .map((over) => ({ ...seat, ...over })),
    ...[undefined, long, "o\u0000", "\u009f", "a\n", "\udfff"]
      .map((office_id) => ({ ...seat, office_id })),
  ];
  for (const payload of bad) {
    const [[ok, reason] = [], ...more] = client.send(
      "server:join_office",
      payload,
    );
    assertEquals([ok, typeof reason, more], [false, "string", []]);
    const [left = []] = client.send(LEAVE, payload);
    assertEquals([left.length, left[0]], [2, false]);
  }
  assertEquals(
    plain.audit.map((line) => [line.event, Object(line).principal]),
    bad.map(() => ["join_refused", "key"]),
  );
});

Deno.test("Connection: credentials are asked at every join: roles, offices, names, expiry (protocol §10)", () => {
  const plain = plainOffices();
  const rows: [object, string][] = [
    [
      { policy: { roles: ["computer"] } },
      "Not allowed to join as agent: the credentials are for computer",
    ],
    [{ policy: { offices: ["s*"] } }, "Not allowed to join this office"],
    [{ policy: { names: ["b"] } }, 'Not allowed to join under the name "a"'],
    [
      { expiresAt: 1_000_000 },
      "The credentials have expired: connect again with new ones",
    ],
  ];
  for (const [more, reason] of rows) {
    const identity = { principal: "key", ...more };
    const joined = plain.connect({ identity }).join("agent", "a");
    assertEquals(joined, [false, reason]);
  }
  assertEquals([...plain.offices], []);
  // A member whose move is refused stays where it is.
  const identity = { principal: "key", policy: { offices: ["north"] } };
  const pc = plain.join("computer", "pc", { identity });
  assertEquals(pc.join("computer", "pc", "south"), [
    false,
    "Not allowed to join this office",
  ]);
  assertEquals(namesOf(plain, "north"), ["computer pc"]);
});

Deno.test("Connection: naming another office to leave changes nothing, and is audited as 4104 (protocol §5)", () => {
  const plain = plainOffices();
  const pc = plain.join("computer", "pc");
  assertEquals(leave(pc, "south"), [
    false,
    "Cannot leave an office that you are not in",
  ]);
  assertEquals(namesOf(plain, "north"), ["computer pc"]);
  const line = plain.audit.at(-1);
  assertEquals([line?.event, Object(line).code], ["access_refused", 4104]);
});
