import { assertEquals } from "@std/assert";
import {
  type AuditLine,
  membersOf,
  type NodeHistory,
  readAudit,
  rivals,
  servedAgents,
} from "../support/cluster/rig/audit_log.ts";

const agent = (name: string, time: number, event = "joined"): AuditLine => ({
  time,
  event,
  office: "o",
  role: "agent",
  name,
  socket: `of ${name}`,
});

const node = (
  name: string,
  audit: AuditLine[],
  over: Partial<NodeHistory> = {},
): NodeHistory => ({ name, audit, endedAt: undefined, frozen: [], ...over });

const rivalsOf = (...nodes: NodeHistory[]) =>
  rivals(servedAgents(nodes)).map((pair) => pair.map(({ agent }) => agent));

Deno.test("rivals() finds two Agents of one office that were served at one time", () => {
  const first = node("a", [agent("one", 1), agent("one", 9, "left")]);
  assertEquals(rivalsOf(first, node("b", [agent("two", 5)])), [["one", "two"]]);
  assertEquals(rivalsOf(first, node("b", [agent("two", 9)])), []);
  assertEquals(rivalsOf(first, node("b", [agent("one", 5)])), [], "itself");
});

Deno.test("servedAgents() ends a service with the process, and not by the word of another node", () => {
  const joined = [agent("one", 1)];
  const told = node("b", [agent("one", 4, "left"), agent("two", 5)]);
  assertEquals(rivalsOf(node("a", joined), told), [["one", "two"]]);
  assertEquals(rivalsOf(node("a", joined, { endedAt: 4 }), told), []);
});

Deno.test("servedAgents() ends a service with a stop that it did not outlive, unless a call was served after it", () => {
  const lines = [agent("one", 1), agent("one", 9, "left")];
  const other = node("b", [agent("two", 5)]);
  const frozen = [[2, 8]] as const;
  assertEquals(rivalsOf(node("a", lines, { frozen }), other), []);
  const call = {
    time: 9,
    event: "tool_call",
    office: "o",
    agent: "one",
    outcome: "ok",
    ms: 0,
  };
  const served = node("a", [...lines, call], { frozen });
  assertEquals(rivalsOf(served, other), [["one", "two"]]);
});

Deno.test("membersOf() reads who is here, readAudit() a line of the log", () => {
  const line = readAudit(
    '{"time":"2026-01-01T00:00:00.000Z","level":"info","logger":"a2c-smcp.audit","message":"joined","office":"o","role":"agent","name":"one","socket":"s"}',
  );
  assertEquals(membersOf({ audit: line ? [line] : [] }).length, 1);
  assertEquals(readAudit("Listening"), undefined);
  assertEquals(readAudit('{"logger":"a2c-smcp.audit","mess'), undefined);
});
