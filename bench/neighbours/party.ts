import { Buffer } from "node:buffer";
import {
  type ClientEvent,
  GET_CONFIG_EVENT,
  GET_TOOLS_EVENT,
  isClientEvent,
  isServerEvent,
  JOIN_OFFICE_EVENT,
  SERVER_EVENTS,
  UPDATE_TOOL_LIST_EVENT,
} from "../../protocol/mod.ts";
import { AGENT, answerOf, COMPUTER, reportOf, requestOf } from "./events.ts";
import { RawClient, type Reply } from "./raw_client.ts";
import type { Row } from "./rows.ts";

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

/** An Agent and a Computer in an office of their own, or a client in none. */
export class Party {
  readonly office: string;
  readonly #clients: Readonly<Partial<Record<"agent" | "computer", RawClient>>>;
  /** What the Computer answers to one event; the smallest answer to any other. */
  readonly #answers = new Map<string, Buffer>();

  private constructor(
    office: string,
    clients: Readonly<Partial<Record<"agent" | "computer", RawClient>>>,
  ) {
    this.office = office;
    this.#clients = clients;
    const { computer } = clients;
    if (computer === undefined) return;
    computer.onRequest = (id, event) => {
      if (!isClientEvent(event)) return;
      computer.answer(
        id,
        this.#answers.get(event) ?? json(answerOf(event).base),
      );
    };
  }

  /** Connects the members that a row needs. */
  static async open(
    port: number,
    { agent, computer, event, way, part }: Omit<Row, "variants" | "title">,
    office: string,
  ): Promise<Party> {
    if (way === "outsider") {
      return new Party(office, { agent: await RawClient.open(port, agent) });
    }
    const pc = await RawClient.open(port, computer);
    await join(pc, { role: "computer", name: COMPUTER, office_id: office });
    if (way === "mcp") return new Party(office, { computer: pc });
    const bot = await RawClient.open(port, agent);
    await join(bot, { role: "agent", name: AGENT, office_id: office });
    const party = new Party(office, { agent: bot, computer: pc });
    // The Server translates requests once it has seen names of the Computer's MCP servers.
    if (agent !== computer && part !== "answer" && event !== GET_CONFIG_EVENT) {
      await bot.ask(GET_CONFIG_EVENT, json(requestOf(GET_CONFIG_EVENT).base));
    }
    return party;
  }

  /** Whether all of its connections are open. */
  get isOpen(): boolean {
    return Object.values(this.#clients).every(({ isOpen }) => isOpen);
  }

  /** Sends an event with a payload; the member that may send it does. */
  send(event: Row["event"], body: Buffer): Promise<Reply> {
    const { agent, computer } = this.#clients;
    const isComputers = isServerEvent(event) &&
      SERVER_EVENTS[event].from === "computer";
    const sender = isComputers ? computer ?? agent : agent;
    return sender?.ask(event, body) ?? Promise.resolve({ closed: 0 });
  }

  /** Asks the Computer, which answers with a payload. */
  askFor(event: ClientEvent, answer: Buffer): Promise<Reply> {
    this.#answers.set(event, answer);
    return this.send(event, json(requestOf(event).base));
  }

  /** Reports that the tools have changed: from now on they are those of an answer. */
  changeTools(answer: Buffer): void {
    this.#answers.set(GET_TOOLS_EVENT, answer);
    const { base } = reportOf(UPDATE_TOOL_LIST_EVENT, this.office);
    this.#clients.computer?.tell(UPDATE_TOOL_LIST_EVENT, json(base));
  }

  /** Closes the connections. */
  close(): void {
    for (const client of Object.values(this.#clients)) client.close();
  }
}

async function join(client: RawClient, request: object): Promise<void> {
  const reply = await client.ask(JOIN_OFFICE_EVENT, json(request));
  if ("ack" in reply && reply.ack.startsWith("[true")) return;
  throw new Error(`Cannot join: ${JSON.stringify(reply)}`);
}
