import { pause } from "../processes.ts";
import { RawClient } from "./raw_client.ts";
import { type Times, timesOf } from "./result.ts";

/** The calls that were due in some time. */
export interface Waits {
  /** How long they took; one that was not answered counts until the end. */
  readonly times: Times;
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

const RESULT = JSON.stringify({ content: [{ type: "text", text: "done" }] });

/**
 * An Agent and a Computer of an office that is not attacked. The Agent calls a tool at a steady pace, whether
 * or not earlier calls were answered, and measures from the time at which a call was due.
 */
export class Neighbour implements Disposable {
  readonly #agent: RawClient;
  readonly #computer: RawClient;
  #calls: TimedCall[] = [];

  private constructor(agent: RawClient, computer: RawClient) {
    this.#agent = agent;
    this.#computer = computer;
    computer.onRequest = (id) => computer.answer(id, RESULT);
    void this.#callSteadily();
  }

  static async open(port: number): Promise<Neighbour> {
    const join = async (role: "agent" | "computer") =>
      await (await RawClient.open(port, "0.4")).join(role, role, "neighbours");
    const computer = await join("computer");
    return new Neighbour(await join("agent"), computer);
  }

  /** Measures the calls that are due while something runs. */
  async during<T>(run: () => Promise<T>): Promise<Waits & { readonly ran: T }> {
    this.#calls = [];
    const ran = await run();
    const end = performance.now();
    const ours = this.#calls;
    this.#calls = [];
    const isOpen = ({ tookMs }: TimedCall) => tookMs === undefined;
    while (
      this.#agent.isOpen && performance.now() < end + LATEST_MS &&
      ours.some(isOpen)
    ) await pause(EVERY_MS);
    const now = performance.now();
    return {
      ran,
      times: timesOf(ours.map(({ due, tookMs }) => tookMs ?? now - due)),
      failed: ours.filter((call) => call.isFailed || isOpen(call)).length,
    };
  }

  async #callSteadily(): Promise<void> {
    const start = performance.now();
    for (let number = 0; this.#agent.isOpen;) {
      const due = start + number * EVERY_MS;
      const now = performance.now();
      if (due > now) await pause(due - now);
      else void this.#call(number++, due);
    }
  }

  async #call(number: number, due: number): Promise<void> {
    const timed: TimedCall = { due, tookMs: undefined, isFailed: false };
    this.#calls.push(timed);
    const call = {
      agent: "agent",
      req_id: String(number),
      computer: "computer",
      tool_name: "echo",
      params: { text: "0123456789" },
      timeout: 60,
    };
    const reply = await this.#agent.ask(
      "client:tool_call",
      JSON.stringify(call),
    );
    timed.tookMs = performance.now() - due;
    timed.isFailed = !("ack" in reply) || !reply.ack.startsWith('[{"content"');
  }

  [Symbol.dispose](): void {
    this.#agent.close();
    this.#computer.close();
  }
}
