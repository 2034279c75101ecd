/**
 * A member of the office that is not attacked, a process of its own: `neighbour.ts ROLE PORT`. The
 * Agent calls a tool at a steady pace, whether or not earlier calls were answered, and measures from
 * the time at which a call was due.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import process from "node:process";
import { JOIN_OFFICE_EVENT, TOOL_CALL_EVENT } from "../../protocol/mod.ts";
import { answerQuestions, pause } from "./processes.ts";
import { RawClient } from "./raw_client.ts";

/** Asks the Agent for the calls that were due in some time. */
export type NeighbourQuestion = "begin" | "end";

/** The calls that were due between a beginning and an end. */
export interface Waits {
  /** How long each took, in ms; one that was not answered counts until the question. */
  readonly ms: readonly number[];
  /** Calls that were refused or not answered. */
  readonly failed: number;
}

const EVERY_MS = 5;

/** How long an answer may take after the end. */
const LATEST_MS = 60_000;

interface TimedCall {
  readonly due: number;
  tookMs: number | undefined;
  isFailed: boolean;
}

const [role = "", port = ""] = process.argv.slice(2);
const client = await RawClient.open(Number(port), "0.4");
const json = (value: unknown) => Buffer.from(JSON.stringify(value));

const joined = await client.ask(
  JOIN_OFFICE_EVENT,
  json({ role, name: role, office_id: "neighbours" }),
);
if (!("ack" in joined) || joined.ack !== "[true,null]") {
  throw new Error(`Cannot join: ${JSON.stringify(joined)}`);
}

const RESULT = json({ content: [{ type: "text", text: "done" }] });
client.onRequest = (id) => client.answer(id, RESULT);

let calls: TimedCall[] = [];
let began = 0;

async function call(number: number, due: number): Promise<void> {
  const timed: TimedCall = { due, tookMs: undefined, isFailed: false };
  calls.push(timed);
  const reply = await client.ask(
    TOOL_CALL_EVENT,
    json({
      agent: role,
      req_id: String(number),
      computer: "computer",
      tool_name: "echo",
      params: { text: "0123456789" },
      timeout: 60,
    }),
  );
  timed.tookMs = performance.now() - due;
  timed.isFailed = !("ack" in reply) || !reply.ack.startsWith('[{"content"');
}

async function callSteadily(): Promise<void> {
  const start = performance.now();
  for (let number = 0; client.isOpen;) {
    const due = start + number * EVERY_MS;
    const now = performance.now();
    if (due > now) await pause(due - now);
    else void call(number++, due);
  }
}

async function waits(end: number): Promise<Waits> {
  const ours = calls.filter(({ due }) => due >= began && due < end);
  while (
    client.isOpen && performance.now() < end + LATEST_MS &&
    ours.some(({ tookMs }) => tookMs === undefined)
  ) await pause(EVERY_MS);
  const now = performance.now();
  return {
    ms: ours.map(({ due, tookMs }) => tookMs ?? now - due),
    failed:
      ours.filter(({ tookMs, isFailed }) => isFailed || tookMs === undefined)
        .length,
  };
}

async function answer(question: NeighbourQuestion): Promise<Waits | true> {
  if (question === "end") return await waits(performance.now());
  calls = [];
  began = performance.now();
  return true;
}

if (role === "agent") void callSteadily();
await answerQuestions(answer);
