import {
  ConnectionError,
  SmcpAgent,
  type SmcpAgentOptions,
} from "../../agent/mod.ts";
import { onAbort, sleep } from "../../shared/async.ts";
import { messageOf } from "../tools/result.ts";

/** What a seat is for. */
interface OwnSeatParts {
  /** How the Agent connects. */
  readonly agent: SmcpAgentOptions;
  /** The office. */
  readonly office: string;
  /** Told when the seat was taken, was lost, or cannot be taken for another reason. */
  readonly changed: () => void;
}

/** Milliseconds between two attempts to take a seat that somebody has. */
const RETRY_MS = 2_000;

/** The office's one seat for an Agent, taken by this process as soon as it is free. */
export class OwnSeat {
  readonly #parts: OwnSeatParts;
  #agent: SmcpAgent | undefined;
  /** Why there is no Agent. */
  #reason: string;

  /** @param reason why there is no Agent until {@linkcode hold} is called */
  constructor(parts: OwnSeatParts, reason: string) {
    this.#parts = parts;
    this.#reason = reason;
  }

  /**
   * Gives the Agent.
   *
   * @throws {Error} saying why there is none
   */
  readonly provide = (): SmcpAgent => {
    if (this.#agent) return this.#agent;
    throw new Error(this.#reason);
  };

  /** Says in a line how it stands. */
  get state(): string {
    return this.#agent
      ? `has the seat of the office ${JSON.stringify(this.#parts.office)}`
      : this.#reason;
  }

  /** Holds the seat until the end, and tries again while it cannot. */
  async hold(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      const agent = new SmcpAgent(this.#parts.agent);
      try {
        await agent.connect();
        await agent.join(this.#parts.office);
        if (!end.aborted) await this.#sit(agent, end);
      } catch (error) {
        this.#explain(error);
      }
      this.#agent = undefined;
      await agent.close();
      await sleep(RETRY_MS, end).catch(() => {});
    }
  }

  async #sit(agent: SmcpAgent, end: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    onAbort(end, () => resolve(undefined));
    agent.on("rejoinFailed", ({ reason }) => resolve(reason));
    agent.on("refused", ({ message }) => resolve(message));
    this.#agent = agent;
    this.#parts.changed();
    const lost = await promise;
    if (lost !== undefined) throw new ConnectionError("refused", lost);
  }

  #explain(error: unknown): void {
    const { office, agent: { name } } = this.#parts;
    const isTaken = error instanceof ConnectionError &&
      error.code === "refused";
    const why = isTaken
      ? `The office ${JSON.stringify(office)} did not let in this Agent (${
        JSON.stringify(name)
      }): ${
        messageOf(error)
      }. An office has one seat for an Agent: stop the other one, or let it leave the office; this server tries again by itself, and tells when it has tools`
      : messageOf(error);
    const hadAgent = this.#agent !== undefined;
    this.#agent = undefined;
    if (why === this.#reason && !hadAgent) return;
    this.#reason = why;
    this.#parts.changed();
  }
}
