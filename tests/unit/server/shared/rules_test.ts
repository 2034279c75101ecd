import { assertEquals, assertThrows } from "@std/assert";
import {
  ErrorCode,
  GET_DPE_EVENT,
  GET_TOOLS_EVENT,
  ProtocolError,
  TOOL_CALL_EVENT,
} from "../../../../protocol/mod.ts";
import type { Seated } from "../../../../server/office/peer.ts";
import { checkAccess } from "../../../../server/office/members.ts";
import { answerDeadline, readAnswer } from "../../../../server/office/call.ts";
import type { Policy } from "../../../../server/mod.ts";
import { readHandshakeAuth } from "../../../../server/doors/admission.ts";
import { Payload } from "../../../../server/wire/mod.ts";

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
