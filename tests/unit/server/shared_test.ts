import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  ErrorCode,
  GET_DPE_EVENT,
  GET_TOOLS_EVENT,
  ProtocolError,
  TOOL_CALL_EVENT,
} from "../../../protocol/mod.ts";
import { readHandshakeAuth } from "../../../server/doors/session.ts";
import type { Policy } from "../../../server/mod.ts";
import { answerDeadline, readAnswer } from "../../../server/office/call.ts";
import { checkAccess } from "../../../server/office/members.ts";
import type { Seated } from "../../../server/office/peer.ts";
import { TimeText } from "../../../server/shared/log.ts";
import { type Deadline, Deadlines } from "../../../server/shared/pending.ts";
import { Payload } from "../../../server/wire/mod.ts";
import {
  hurryTimers,
  keepsRunning,
  watchTimers,
} from "../../support/timers.ts";

const seated = (role: Seated["role"], policy?: Policy): Seated => ({
  ...{ role, name: "planner", office: "north" },
  peer: Object({ identity: policy && { principal: "key:a", policy } }),
});

const agent = seated("agent");

const codeOf = (act: () => unknown): number =>
  assertThrows(act, ProtocolError).code;

Deno.test("checkAccess() checks role, name and office in this order", () => {
  const wrong = { role: "computer", name: "other", office: "south" } as const;
  assertEquals(codeOf(() => checkAccess(agent, wrong)), 403);
  const role = { ...wrong, role: "agent" } as const;
  const held = seated("agent", { names: ["plan*"] });
  assertEquals(codeOf(() => checkAccess(held, role)), 403);
  const name = { ...role, name: "planner" };
  assertEquals(codeOf(() => checkAccess(agent, name)), 4104);
  checkAccess(agent, { ...name, office: "north" });
  checkAccess(agent, { role: "agent", name: "planner" });
});

Deno.test("checkAccess() says who may send the event", () => {
  const refused = (role: "agent" | "computer") =>
    assertThrows(
      () =>
        checkAccess(seated(role === "agent" ? "computer" : "agent"), {
          ...{ role, name: "planner" },
        }),
      ProtocolError,
    ).message;
  assertEquals(refused("agent"), "Only an agent may send this event");
  assertEquals(refused("computer"), "Only a computer may send this event");
});

Deno.test("checkAccess() requires the exact name of computers, and of agents whose credentials restrict names", () => {
  const other = { role: "agent", name: "somebody" } as const;
  for (
    const policy of [undefined, {}, { offices: ["north"] }, { names: ["*"] }]
  ) {
    checkAccess(seated("agent", policy), other);
  }
  for (const names of [["planner"], ["*n*"], ["somebody", "planner"], []]) {
    const held = seated("agent", { names });
    assertEquals(codeOf(() => checkAccess(held, other)), 403);
  }
  const about = { role: "computer", name: "somebody" } as const;
  assertEquals(codeOf(() => checkAccess(seated("computer"), about)), 403);
});

Deno.test("checkAccess() lets operators ask what Agents may, and nothing else", () => {
  checkAccess(seated("operator"), { role: "agent", name: "somebody" });
  const about = { role: "computer", name: "planner" } as const;
  assertEquals(codeOf(() => checkAccess(seated("operator"), about)), 403);
});

Deno.test("checkAccess() never reveals which other offices exist", () => {
  const error = assertThrows(
    () =>
      checkAccess(agent, { role: "agent", name: "planner", office: "south" }),
    ProtocolError,
  );
  assertEquals(JSON.stringify(error.toPayload()).includes("south"), false);
});

Deno.test("answerDeadline() is timeout + 5 s if the event has one, otherwise the fallback", () => {
  assertEquals(answerDeadline(TOOL_CALL_EVENT, 60, 30_000), 65_000);
  assertEquals(answerDeadline(GET_DPE_EVENT, 7, 30_000), 12_000);
  assertEquals(answerDeadline(GET_DPE_EVENT, undefined, 30_000), 35_000);
  assertEquals(answerDeadline(GET_TOOLS_EVENT, undefined, 30_000), 30_000);
  assertEquals(answerDeadline(GET_TOOLS_EVENT, 3600, 30_000), 30_000);
});

Deno.test("readAnswer() passes an object unchanged, and answers 400 for an empty ack, 500 for anything else", () => {
  const answer = Payload.of({ content: [], later: { a: 1 } });
  assertEquals(readAnswer(answer, GET_DPE_EVENT) === answer, true);
  assertEquals(readAnswer(undefined, GET_DPE_EVENT).parse(), {
    code: ErrorCode.BAD_REQUEST,
    message: "The Computer does not know client:get_dpe",
  });
  for (
    const odd of [undefined, null, 1, "x", true, [], [{}], new Uint8Array(2)]
  ) {
    assertEquals(
      Object(readAnswer(Payload.of(odd), GET_DPE_EVENT).parse()).code,
      ErrorCode.INTERNAL_ERROR,
    );
  }
});

Deno.test("readHandshakeAuth() reads role and instance_id, and refuses invalid ones", () => {
  assertEquals(readHandshakeAuth({}), { role: undefined, instance: undefined });
  assertEquals(
    readHandshakeAuth({ role: "agent", instance_id: "i", token: 5 }),
    { role: "agent", instance: "i" },
  );
  for (const role of ["Agent", "", "server", null, 1, {}, ["agent"]]) {
    assertEquals(codeOf(() => readHandshakeAuth({ role })), 400);
  }
  for (const instance_id of ["", null, 7, {}, "x".repeat(257)]) {
    assertEquals(codeOf(() => readHandshakeAuth({ instance_id })), 400);
  }
});

Deno.test("Deadlines has one timer, for the earliest of them, and expires those that are due", async () => {
  using _running = keepsRunning();
  using timers = hurryTimers(10_000, 20_000, 5_000, 15_000);
  const deadlines = new Deadlines();
  const expired: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const at = (due: number, name: string): Deadline => ({
    due,
    expire: () => {
      expired.push(name);
      waiting.resolve();
    },
  });
  const taken = at(5_000, "taken back");
  deadlines.add(at(10_000, "second"), 0);
  deadlines.add(at(20_000, "last"), 0);
  deadlines.add(taken, 0);
  deadlines.add(at(5_000, "first"), 0);
  assertEquals(timers.armed, [10_000, 5_000]);
  deadlines.remove(taken);
  await waiting.promise;
  assertEquals(expired, ["first"]);
  deadlines.clear();
});

Deno.test("Deadlines continues with the next one after the earliest, also when that was removed", async () => {
  using _running = keepsRunning();
  const deadlines = new Deadlines();
  const now = performance.now();
  const expired: number[] = [];
  const done = Promise.withResolvers<void>();
  const all = [1, 2, 3].map((ms): Deadline => ({
    due: now + ms,
    expire: () => {
      expired.push(ms);
      if (ms === 3) done.resolve();
    },
  }));
  for (const deadline of all) deadlines.add(deadline, now);
  deadlines.remove(all[0]!);
  await done.promise;
  assertEquals(expired, [2, 3]);
});

Deno.test("Deadlines accepts new ones while it expires others", async () => {
  using _running = keepsRunning();
  const deadlines = new Deadlines();
  const done = Promise.withResolvers<void>();
  const now = performance.now();
  deadlines.add({
    due: now + 1,
    expire: () =>
      deadlines.add({ due: now + 2, expire: () => done.resolve() }, now),
  }, now);
  await done.promise;
});

Deno.test("Deadlines sets no negative delay when the next one is overdue, since Node warns of it", async () => {
  using _running = keepsRunning();
  const delays: (number | undefined)[] = [];
  using _ = watchTimers((delay) => delays.push(delay));
  const deadlines = new Deadlines();
  const done = Promise.withResolvers<void>();
  const now = performance.now();
  deadlines.add({
    due: now - 1000,
    expire: () => {
      // Overdue by the time that the first one has expired.
      deadlines.add({ due: now - 500, expire: () => done.resolve() }, now);
    },
  }, now);
  await done.promise;
  assertEquals(delays.filter((delay) => !(delay! >= 0)), []);
  assert(delays.length >= 2);
});

Deno.test("Deadlines wait for what came in time while the process was stalled", async () => {
  using _running = keepsRunning();
  const deadlines = new Deadlines();
  const ends: string[] = [];
  const over = Promise.withResolvers<void>();
  const end = (name: string): Deadline => ({
    due: performance.now() + 1,
    expire: () => {
      ends.push(`${name} expired`);
      over.resolve();
    },
  });
  const [answered, silent] = [end("answered"), end("silent")];
  for (const each of [answered, silent]) {
    deadlines.add(each, performance.now());
  }
  // Stands for an answer that is read in a later turn than that of the timer.
  setTimeout(() => deadlines.remove(answered) && ends.push("answer"), 2);
  const stalled = performance.now() + 200;
  while (performance.now() < stalled);
  await over.promise;
  assertEquals(ends, ["answer", "silent expired"]);
});

Deno.test("Deadlines.remove() removes the given one, in any order, and only once", () => {
  const deadlines = new Deadlines();
  const all = [5, 3, 1, 4, 2].map((due): Deadline => ({
    due: due * 1e6,
    expire: () => {},
  }));
  for (const deadline of all) deadlines.add(deadline, 0);
  const left = new Set(all);
  for (const at of [2, 0, 4, 3, 1]) {
    const deadline = all[at]!;
    assertEquals(deadlines.remove(deadline), true);
    assertEquals(deadlines.remove(deadline), false);
    left.delete(deadline);
    assertEquals(new Set(deadlines), left);
  }
  assertEquals(deadlines.size, 0);
  deadlines.clear();
});

Deno.test("TimeText writes what Date does", () => {
  const times = new TimeText();
  for (const at of [0, 1, 999, 59_999, 60_000, 61_005, -1, 1_795_414_182_606]) {
    assertEquals(times.of(at), new Date(at).toISOString());
  }
  for (let i = 0; i < 10_000; i++) {
    const at = 1_795_414_182_606 + i * 37;
    assertEquals(times.of(at), new Date(at).toISOString());
  }
});
