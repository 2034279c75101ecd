/**
 * Those who attack, a process of its own: `attacker.ts PORT`. It prepares the bytes of an attack when it
 * is asked for, and sends them when it is told to go.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import process from "node:process";
import { isClientEvent, isServerEvent } from "../../protocol/mod.ts";
import { modernRequest, post } from "../../tests/support/mcp/post.ts";
import type { Bound } from "./bounds.ts";
import { answerOf, FAILURE, reportOf, requestOf } from "./events.ts";
import { Party } from "./party.ts";
import { answerQuestions } from "./processes.ts";
import type { Reply } from "./raw_client.ts";
import { kindOf } from "./result.ts";
import type { Pace, Row, Variant } from "./rows.ts";
import { payloadOf } from "./shapes.ts";

/** One attack. */
export interface Attack {
  readonly row: Omit<Row, "variants" | "title">;
  readonly variant: Variant;
  readonly bound: Bound;
}

/** What to do: prepare an attack, or begin it. */
export type AttackerQuestion = Attack | "go";

/** What was sent, and what came back. */
export interface Attacked {
  readonly payloads: number;
  /** Bytes of one payload. */
  readonly bytes: number;
  readonly seconds: number;
  /** How the payloads were answered: how many in which way. */
  readonly answers: Readonly<Record<string, number>>;
}

const port = Number(process.argv[2]);
let offices = 0;
let prepared: Prepared | undefined;

interface Prepared {
  readonly attack: Attack;
  readonly office: string;
  readonly body: Buffer;
}

function prepare(attack: Attack): { readonly bytes: number } {
  const office = `attacked-${offices++}`;
  const { row: { event, part, way }, variant, bound } = attack;
  const sample = variant.isFailure
    ? FAILURE
    : isServerEvent(event)
    ? reportOf(event, office)
    : part === "answer"
    ? answerOf(event)
    : requestOf(event);
  const base = way === "other-name"
    ? { ...sample.base, agent: "somebody else" }
    : { ...sample.base };
  const place = { base, field: variant.field };
  const body = Buffer.from(payloadOf(variant.shape, place, bound));
  prepared = { attack, office, body };
  return { bytes: body.length };
}

async function run({ attack, office, body }: Prepared): Promise<Attacked> {
  const { row: { way } } = attack;
  let { pace } = attack.row;
  const answers: Record<string, number> = {};
  const began = performance.now();
  let payloads = 0;
  let party = await Party.open(port, attack.row, office);
  let opening: Promise<Party> | undefined;
  const isDone = () =>
    payloads >= pace.most ||
    payloads >= pace.least && performance.now() - began >= pace.leastMs;
  const sendOnce = async () => {
    if (way === "renamed") renumber(body, payloads);
    payloads++;
    const reply = await inTime(send(party, attack, body));
    const kind = kindOf(reply);
    answers[kind] = (answers[kind] ?? 0) + 1;
    if (party.isOpen) return;
    opening ??= Party.open(port, attack.row, `${office}-${payloads}`);
    party = await opening;
    opening = undefined;
  };
  const lane = async () => {
    while (!isDone()) await sendOnce();
  };
  try {
    if (pace.isTriedFirst) {
      await sendOnce();
      if (performance.now() - began > SLOW_MS) pace = ONCE;
    }
    await Promise.all(Array.from({ length: pace.inFlight }, lane));
  } finally {
    party.close();
  }
  const seconds = (performance.now() - began) / 1000;
  return { payloads, bytes: body.length, seconds, answers };
}

/** Sends the payload once, as a member of its party. */
async function send(
  party: Party,
  { row: { event, part, way } }: Attack,
  body: Buffer,
): Promise<Reply> {
  if (way === "mcp") return await listTools(party, body);
  if (part === "answer" && isClientEvent(event)) {
    return await party.askFor(event, body);
  }
  return await party.send(event, body);
}

/** A payload that alone takes so long is not sent again: what it does is seen, and many take minutes. */
const SLOW_MS = 1000;
const ONCE: Pace = {
  inFlight: 1,
  least: 1,
  leastMs: 0,
  most: 1,
};

const LATEST_MS = 60_000;

/** Waits for a reply no longer than a minute: a Server that drops a payload must not stop the measurement. */
async function inTime(reply: Promise<Reply>): Promise<Reply> {
  const late = Promise.withResolvers<Reply>();
  const timer = setTimeout(
    () => late.resolve({ ack: "no answer" }),
    LATEST_MS,
  );
  try {
    return await Promise.race([reply, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Makes an MCP client of the Server list the tools again. */
async function listTools(party: Party, body: Buffer): Promise<Reply> {
  party.changeTools(body);
  const { status, body: text } = await post(
    `http://127.0.0.1:${port}/mcp/${party.office}`,
    modernRequest("tools/list"),
  );
  const names = text.match(/"inputSchema"/g)?.length ?? 0;
  return { ack: `HTTP ${status}${names > 0 ? `, ${names} tools` : ""}` };
}

const DIGITS = 8;

/** Makes the name another one, in place. */
function renumber(body: Buffer, number: number): void {
  const at = body.indexOf('{"', 1) + 2;
  body.write(String(number).padStart(DIGITS, "0"), at);
}

async function answer(question: AttackerQuestion): Promise<unknown> {
  if (question !== "go") return prepare(question);
  if (prepared === undefined) throw new Error("Nothing is prepared");
  return await run(prepared).catch(({ message }) => ({
    payloads: 0,
    bytes: 0,
    seconds: 0,
    answers: { [`failed: ${message}`]: 1 },
  }));
}

await answerQuestions(answer);
