import { assertEquals } from "@std/assert";
import {
  AGENT_GONE,
  type CallEnd,
  CANCELLED_BY_OPERATOR,
  endOf,
  endText,
  isFaultOf,
  OK,
  TIMEOUT_OF_SERVER,
} from "../../../server/shared/audit.ts";
import { endOfCancelled } from "../../../server/office/call.ts";
import { Payload } from "../../../server/wire/mod.ts";

const content: never[] = [];
const read = (answer: unknown) =>
  answer === undefined ? undefined : Payload.of(answer);
const TIMEOUT_OF_AGENT: CallEnd = { outcome: "timeout", ended_by: "agent" };

Deno.test("endOf() derives from its answer how a call ended", () => {
  const table: [answer: unknown, end: string][] = [
    [undefined, "agent gone"],
    [{ code: 408, message: "late" }, "timeout of the computer"],
    [{ code: 404, message: "no" }, "error 404"],
    [{ content }, "ok"],
    [{ content, isError: false, code: 1, message: "m" }, "ok"],
    [{ tools: [] }, "ok"],
    [{ content, isError: true }, "tool error"],
    [{ content, isError: true, meta: { error_code: 4001 } }, "error 4001"],
    [
      { content, isError: true, meta: { error_code: 4004 } },
      "timeout of the computer",
    ],
    [
      { content, isError: true, _meta: { a2c_cancelled: true } },
      "cancelled by the computer",
    ],
    [{ content, isError: true, meta: "odd", _meta: null }, "tool error"],
    [{ content, isError: true, meta: { error_code: "x\ny" } }, "tool error"],
  ];
  for (const [answer, end] of table) {
    assertEquals(endText(endOf(read(answer))), end);
  }
});

Deno.test("endOf() keeps what the Agent did to a call, unless the answer is faster", () => {
  const table: [answer: unknown, end: string][] = [
    [undefined, "timeout of the agent"],
    [
      { content, isError: true, meta: { a2c_cancelled: true } },
      "timeout of the agent",
    ],
    [
      { content, isError: true, meta: { error_code: 4004 } },
      "timeout of the agent",
    ],
    [{ content }, "ok"],
    [{ content, isError: true }, "tool error"],
    [{ code: 404, message: "left" }, "error 404"],
  ];
  for (const [answer, end] of table) {
    assertEquals(endText(endOf(read(answer), TIMEOUT_OF_AGENT)), end);
  }
});

Deno.test("endOfCancelled() finds timeouts of Agents that do not say so by the time that has passed", () => {
  const call = { due: 15_000, expire: () => {} }; // 10 s, and 5 s for the answer
  const at = (now: number, reason?: "timeout") =>
    endText(endOfCancelled(call, reason, now));
  assertEquals(at(9_999), "cancelled by the agent");
  assertEquals(at(10_000), "timeout of the agent");
  assertEquals(at(1, "timeout"), "timeout of the agent");
});

Deno.test("isFaultOf() blames nobody for a cancelled call, and no Computer for an Agent that did not wait", () => {
  const rows: [end: CallEnd, agent: boolean, computer: boolean][] = [
    [OK, false, false],
    [AGENT_GONE, false, false],
    [CANCELLED_BY_OPERATOR, false, false],
    [{ outcome: "cancelled", ended_by: "agent" }, false, false],
    [TIMEOUT_OF_AGENT, true, false],
    [TIMEOUT_OF_SERVER, true, true],
    [{ outcome: "timeout", ended_by: "computer" }, true, true],
    [{ outcome: "tool error" }, true, true],
    [{ outcome: "error 404" }, true, true],
  ];
  for (const [end, agent, computer] of rows) {
    assertEquals(
      [isFaultOf("agent", end), isFaultOf("computer", end)],
      [agent, computer],
      endText(end),
    );
  }
});
