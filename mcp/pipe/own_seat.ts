import {
  ConnectionError,
  SmcpAgent,
  type SmcpAgentOptions,
} from "../../agent/mod.ts";
import { onAbort, sleep } from "../../shared/async.ts";
import { messageOf } from "../tools/result.ts";

/** Milliseconds between two attempts to take a seat that another Agent has. */
const RETRY_MS = 2_000;

/** The office's one seat for an Agent, taken by this process as soon as it is free. */
export class OwnSeat {
  readonly #options: SmcpAgentOptions;
  readonly #office: string;
  readonly #changed: () => void;
  #agent: SmcpAgent | undefined;
  /** Why there is no Agent. */
  #reason = "";

  /** @param changed called when the seat was taken, was lost, or cannot be taken for another reason */
  constructor(options: SmcpAgentOptions, office: string, changed: () => void) {
    this.#options = options;
    this.#office = office;
    this.#changed = changed;
  }

  /** Describes in a line whether it has the seat. */
  get description(): string {
    return this.#agent
      ? `has the seat of the office ${JSON.stringify(this.#office)}`
      : this.#reason;
  }

  /** Notes why there is no Agent until `hold` is called. */
  unavailable(reason: string): void {
    this.#reason = reason;
  }

  /**
   * Gives the Agent.
   *
   * @throws {Error} with the reason why there is none
   */
  readonly provide = (): SmcpAgent => {
    if (this.#agent) return this.#agent;
    throw new Error(this.#reason);
  };

  /** Holds the seat until the end, and tries again while it cannot. */
  async hold(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      const next = new SmcpAgent(this.#options);
      try {
        await next.connect();
        await next.join(this.#office);
        if (!end.aborted) await this.#keep(next, end);
      } catch (error) {
        this.#failed(error);
      }
      this.#agent = undefined;
      await next.close();
      await sleep(RETRY_MS, end).catch(() => {});
    }
  }

  /**
   * Has the seat until the end.
   *
   * @throws {ConnectionError} it was lost
   */
  async #keep(joined: SmcpAgent, end: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const lost = (why: string) => reject(new ConnectionError("refused", why));
    onAbort(end, resolve);
    joined.on("rejoinFailed", ({ reason }) => lost(reason));
    joined.on("refused", ({ message }) => lost(message));
    this.#agent = joined;
    this.#changed();
    await promise;
  }

  #failed(error: unknown): void {
    const isTaken = error instanceof ConnectionError &&
      error.code === "refused";
    const why = isTaken
      ? `The office ${JSON.stringify(this.#office)} refused this Agent (${
        JSON.stringify(this.#options.name)
      }): ${error.message}. An office has one seat for an Agent: stop the other one, or let it leave the office; this server tries again by itself, and notifies its client when it has tools`
      : messageOf(error);
    if (why === this.#reason && this.#agent === undefined) return;
    this.#agent = undefined;
    this.#reason = why;
    this.#changed();
  }
}
