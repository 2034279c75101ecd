/**
 * The members that attack, a process of its own: `attacker.ts PORT`. It prepares an attack when it is
 * asked for one, and begins it at "go".
 *
 * @module
 */
import process from "node:process";
import {
  isClientEvent,
  isServerEvent,
  SERVER_EVENTS,
} from "../../protocol/mod.ts";
import { modernRequest, post } from "../../tests/support/mcp/post.ts";
import { pause } from "../processes.ts";
import { AGENT, answerOf, COMPUTER, FAILURE, requestOf } from "./events.ts";
import { answerQuestions } from "./helper.ts";
import { RawClient, type Reply } from "./raw_client.ts";
import { kindOf } from "./result.ts";
import type { Pace, Row, Variant } from "./rows.ts";
import { type Bound, payloadOf } from "./shapes.ts";

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

interface Prepared {
  readonly row: Attack["row"];
  readonly office: string;
  readonly body: string;
}

const port = Number(process.argv[2]);
let offices = 0;
let prepared: Prepared | undefined;

const requestIn = (event: Row["event"], office: string): string =>
  JSON.stringify(requestOf(event, office).base);

function prepare({ row, variant, bound }: Attack): true {
  const { event, part, way } = row;
  const office = `attacked-${offices++}`;
  const { base } = variant.isFailure
    ? FAILURE
    : part === "answer" && isClientEvent(event)
    ? answerOf(event)
    : requestOf(event, office);
  const place = {
    base: way === "other-name" ? { ...base, agent: "another" } : base,
    field: variant.field,
  };
  prepared = { row, office, body: payloadOf(variant.shape, place, bound) };
  return true;
}

/** An Agent and a Computer in an office of their own, or a client in none. */
class Party {
  readonly #agent: RawClient | undefined;
  readonly #computer: RawClient | undefined;
  readonly #office: string;
  /** What the Computer answers to one event; the smallest answer to any other. */
  readonly #answers = new Map<string, string>();

  private constructor(
    office: string,
    agent: RawClient | undefined,
    computer: RawClient | undefined,
  ) {
    this.#office = office;
    this.#agent = agent;
    this.#computer = computer;
    if (computer === undefined) return;
    computer.onRequest = (id, event) => {
      if (!isClientEvent(event)) return;
      const smallest = JSON.stringify(answerOf(event).base);
      computer.answer(id, this.#answers.get(event) ?? smallest);
    };
  }

  /** Connects the members that a row needs. */
  static async open(row: Attack["row"], office: string): Promise<Party> {
    const { event, part, way } = row;
    const agent = way === "mcp"
      ? undefined
      : await RawClient.open(port, row.agent);
    if (way === "outsider") return new Party(office, agent, undefined);
    const computer = await RawClient.open(port, row.computer);
    await computer.join("computer", COMPUTER, office);
    await agent?.join("agent", AGENT, office);
    const party = new Party(office, agent, computer);
    // The Server translates requests once it has seen names of the Computer's MCP servers.
    const isTranslated = row.agent !== row.computer && part !== "answer";
    if (isTranslated && event !== "client:get_config") {
      await agent?.ask(
        "client:get_config",
        requestIn("client:get_config", office),
      );
    }
    return party;
  }

  /** Whether all of its connections are open. */
  get isOpen(): boolean {
    return this.#agent?.isOpen !== false && this.#computer?.isOpen !== false;
  }

  /** Sends a payload once, as the member that may send it. */
  async send(
    { event, part, way }: Attack["row"],
    body: string,
  ): Promise<Reply> {
    if (way === "mcp") return await this.#listTools(body);
    const isReport = isServerEvent(event) &&
      SERVER_EVENTS[event].from === "computer";
    const sender = isReport ? this.#computer ?? this.#agent : this.#agent;
    if (part === "answer") this.#answers.set(event, body);
    const request = part === "answer" ? requestIn(event, this.#office) : body;
    return await sender?.ask(event, request) ?? { closed: 0 };
  }

  /** Makes an MCP client of the Server list the tools again, which are now those of an answer. */
  async #listTools(answer: string): Promise<Reply> {
    this.#answers.set("client:get_tools", answer);
    const changed = requestIn("server:update_tool_list", this.#office);
    this.#computer?.notify("server:update_tool_list", changed);
    const { status, body } = await post(
      `http://127.0.0.1:${port}/mcp/${this.#office}`,
      modernRequest("tools/list"),
    );
    const names = body.match(/"inputSchema"/g)?.length ?? 0;
    return { ack: `HTTP ${status}${names > 0 ? `, ${names} tools` : ""}` };
  }

  /** Closes the connections. */
  close(): void {
    this.#agent?.close();
    this.#computer?.close();
  }
}

/** A payload that alone takes so long is not sent again: its effect is seen, and many take minutes. */
const SLOW_MS = 1000;
const ONCE: Pace = { inFlight: 1, least: 1, leastMs: 0, most: 1 };

/** A Server that drops a payload must not stop the measurement. */
const LATEST_MS = 60_000;

async function run({ row, office, body }: Prepared): Promise<Attacked> {
  let { pace } = row;
  const answers: Record<string, number> = {};
  const began = performance.now();
  let payloads = 0;
  let party = await Party.open(row, office);
  let opening: Promise<Party> | undefined;
  const isDone = () =>
    payloads >= pace.most ||
    payloads >= pace.least && performance.now() - began >= pace.leastMs;
  const sendOnce = async () => {
    const sent = row.way === "renamed" ? renumbered(body, payloads) : body;
    payloads++;
    const late = pause(LATEST_MS).then((): Reply => ({ ack: "no answer" }));
    const kind = kindOf(await Promise.race([party.send(row, sent), late]));
    answers[kind] = (answers[kind] ?? 0) + 1;
    if (party.isOpen) return;
    opening ??= Party.open(row, `${office}-${payloads}`);
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
  const bytes = new TextEncoder().encode(body).length;
  return { payloads, bytes, seconds, answers };
}

const DIGITS = 8;

/** Makes the name another one of the same length. */
function renumbered(body: string, number: number): string {
  const at = body.indexOf('{"', body.indexOf('"servers"')) + 2;
  const name = String(number).padStart(DIGITS, "0");
  return body.slice(0, at) + name + body.slice(at + DIGITS);
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

answerQuestions(answer);
