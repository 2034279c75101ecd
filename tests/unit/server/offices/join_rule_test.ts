import { assertEquals } from "@std/assert";
import {
  decideJoin,
  type Joiner,
  type Member,
} from "../../../../server/mod.ts";
import { member } from "../../../support/member.ts";

const agent = (over: Partial<Member> = {}): Member =>
  member({ role: "agent", name: "planner", ...over });

const fresh: Joiner = { role: undefined, member: undefined };
const seated = (seat: Member): Joiner => ({ role: seat.role, member: seat });

Deno.test("decideJoin() admits the first agent and the first computer", () => {
  assertEquals(decideJoin(agent(), fresh, undefined), { kind: "admit" });
  assertEquals(decideJoin(member(), fresh, undefined), { kind: "admit" });
});

Deno.test("decideJoin() refuses a second agent and says why", () => {
  const holder = agent({ name: "first", socket: "s0" });
  assertEquals(decideJoin(agent(), fresh, holder), {
    kind: "refuse",
    reason: "Room already has an agent",
  });
});

Deno.test("decideJoin() refuses a second computer of the same name", () => {
  assertEquals(decideJoin(member(), fresh, member({ socket: "s0" })), {
    kind: "refuse",
    reason: 'Computer "pc" already exists in the room',
  });
});

Deno.test("decideJoin() causes no notification when an agent or a computer joins its own office again", () => {
  for (const seat of [agent(), member()]) {
    assertEquals(decideJoin(seat, seated(seat), seat), {
      kind: "already-member",
    });
  }
});

Deno.test("decideJoin() refuses to rejoin the same office under another name", () => {
  for (const seat of [agent(), member()]) {
    const decision = decideJoin(
      { ...seat, name: "other" },
      seated(seat),
      undefined,
    );
    assertEquals(decision.kind, "refuse");
  }
});

Deno.test("decideJoin() keeps an agent in one office", () => {
  const decision = decideJoin(
    agent({ office: "south" }),
    seated(agent()),
    undefined,
  );
  assertEquals(decision.kind, "refuse");
});

Deno.test("decideJoin() lets a computer switch, leaving its old office first", () => {
  const old = member();
  assertEquals(
    decideJoin(member({ office: "south" }), seated(old), undefined),
    {
      kind: "admit",
      leave: old,
    },
  );
});

Deno.test("decideJoin() keeps a computer where it is when its name is taken in the other office", () => {
  const holder = member({ office: "south", socket: "s0" });
  assertEquals(
    decideJoin(member({ office: "south" }), seated(member()), holder).kind,
    "refuse",
  );
});

Deno.test("decideJoin() holds a connection to its role, also after it left and when only declared", () => {
  for (const role of ["agent", "computer"] as const) {
    const wanted = role === "agent" ? member() : agent();
    assertEquals(decideJoin(wanted, { role, member: undefined }, undefined), {
      kind: "refuse",
      reason:
        `Cannot join as ${wanted.role}: the role of this connection is ${role}`,
    });
  }
});

Deno.test("decideJoin() lets the same instance take its seat over from its old socket", () => {
  const oldComputer = member({ socket: "s0", instance: "i1" });
  assertEquals(decideJoin(member({ instance: "i1" }), fresh, oldComputer), {
    kind: "admit",
    evict: oldComputer,
  });
  const oldAgent = agent({ name: "before", socket: "s0", instance: "i1" });
  assertEquals(decideJoin(agent({ instance: "i1" }), fresh, oldAgent), {
    kind: "admit",
    evict: oldAgent,
  });
});

Deno.test("decideJoin() does not treat two absent instances, or another principal, as the same", () => {
  const cases: [Partial<Member>, Partial<Member>][] = [
    [{}, {}],
    [{ instance: "i1" }, {}],
    [{}, { instance: "i1" }],
    [{ instance: "i1" }, { instance: "i2" }],
    [{ instance: "i1", principal: "a" }, { instance: "i1", principal: "b" }],
    [{ instance: "i1", principal: "a" }, { instance: "i1" }],
  ];
  for (const [held, wanted] of cases) {
    const holder = member({ socket: "s0", ...held });
    assertEquals(decideJoin(member(wanted), fresh, holder).kind, "refuse");
  }
});

Deno.test("decideJoin() refuses a new member of a full office, and lets a seat be taken over (spec §10)", () => {
  const full = {
    kind: "refuse" as const,
    reason: "Room is full: it has as many members as this server allows",
    full: true as const,
  };
  assertEquals(decideJoin(member(), fresh, undefined, true), full);
  assertEquals(decideJoin(agent(), fresh, undefined, true), full);
  const old = member({ socket: "s0", instance: "i" });
  assertEquals(decideJoin(member({ instance: "i" }), fresh, old, true), {
    kind: "admit",
    evict: old,
  });
  const seat = member();
  assertEquals(decideJoin(seat, seated(seat), seat, true), {
    kind: "already-member",
  });
});
