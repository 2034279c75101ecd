/**
 * The seat of an office, and what holds it.
 *
 * A seat is an `SmcpAgent` within the Server's process, made when a request needs it. While it
 * leaves, or is lent to another Agent, the next one that takes it waits. `Uses` counts what is in
 * flight, and says when nothing has been for a while.
 *
 * @module
 */
import { ConnectionError, SmcpAgent } from "../agent/mod.ts";
import type { InProcessConnection } from "../shared/in_process.ts";

/** Who makes a call, for the Server's audit log. */
export interface CallSource {
  /** Who it is authenticated as; absent without authentication. */
  readonly principal?: string;
  /** Name and version of the MCP client, as it says itself. */
  readonly client?: string;
}

/** What a Server gives the gateway in it; `GatewayHost` of `@a2c-smcp/sdk/server` is one. */
export interface SeatHost {
  /** What an Agent must stay below. */
  readonly limits: {
    readonly eventsPerSecond: number;
    readonly callsPerAgent: number;
  };
  /** The largest request, in bytes. */
  readonly maxMessageBytes: number;
  /** Connects an Agent within the process. */
  connect(): InProcessConnection;
  /** Finds the name of the Agent that sits in an office. */
  agentOf(office: string): Promise<string | undefined>;
  /** Names who makes a call; returns what forgets it again. */
  attribute(reqId: string, source: CallSource): () => void;
}

/** What a seat is for. */
interface SeatParts {
  /** The office. */
  readonly office: string;
  /** The name of the Agent that sits there. */
  readonly name: string;
  /** The Server. */
  readonly host: Pick<SeatHost, "connect" | "agentOf">;
}

/** How long an Agent has the seat to itself that got it from here, before its end is no longer waited for. */
const LOAN_MS = 8_000;

/** The one seat of an office for an Agent: taken when it is needed, and given up when it is not. */
export class Seat {
  readonly #parts: SeatParts;
  #agent: Promise<SmcpAgent> | undefined;
  /** Ends when the seat that was given up is free. */
  #leaving: Promise<void> = Promise.resolve();
  #endLoan: (() => void) | undefined;

  /** Makes a seat that nobody has taken. */
  constructor(parts: SeatParts) {
    this.#parts = parts;
  }

  /** Whether it is taken, or about to be. */
  get isTaken(): boolean {
    return this.#agent !== undefined;
  }

  /**
   * Takes the seat, unless it is taken.
   *
   * @throws {Error} somebody else sits there; says who, and what to do
   */
  readonly take = (): Promise<SmcpAgent> => {
    if (this.#agent) return this.#agent;
    const taking = this.#take();
    this.#agent = taking;
    taking.catch(() => {
      if (this.#agent === taking) this.#agent = undefined;
    });
    return taking;
  };

  /**
   * Gives the seat up to another Agent; resolves when it is free. Until {@linkcode returned}, but 8
   * seconds at most, {@linkcode take} waits: most Agents stay for one call.
   */
  lend(): Promise<void> {
    this.#endLoan?.();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LOAN_MS);
    this.#endLoan = () => {
      clearTimeout(timer);
      resolve();
    };
    return this.giveUp(promise);
  }

  /** Ends the wait for another Agent. */
  returned(): void {
    this.#endLoan?.();
    this.#endLoan = undefined;
  }

  /**
   * Gives the seat up; resolves when it is free.
   *
   * @param until when the next one may take it; at once without it
   */
  giveUp(until?: Promise<void>): Promise<void> {
    const [agent, leaving] = [this.#agent, this.#leaving];
    this.#agent = undefined;
    const left = agent === undefined
      ? leaving
      : agent.then((agent) => agent.close(), () => leaving);
    this.#leaving = until === undefined ? left : left.then(() => until);
    return left;
  }

  async #take(): Promise<SmcpAgent> {
    const { office, name, host } = this.#parts;
    await this.#leaving;
    const agent = new SmcpAgent({ connection: host.connect(), name });
    try {
      await agent.connect();
      await agent.join(office);
    } catch (error) {
      await agent.close();
      throw await this.#explain(error);
    }
    // Somebody else may have the seat after an interruption: the next request tries again.
    agent.on("rejoinFailed", () => this.#lost(agent));
    agent.on("refused", () => this.#lost(agent));
    return agent;
  }

  async #explain(error: unknown): Promise<unknown> {
    const { office, host } = this.#parts;
    const isRefused = error instanceof ConnectionError &&
      error.code === "refused";
    if (!isRefused) return error;
    const holder = await host.agentOf(office);
    if (holder === undefined) return error;
    return new Error(
      `The office ${JSON.stringify(office)} is in use by its Agent ${
        JSON.stringify(holder)
      }, and has one seat: stop that Agent, or let it leave the office, and try again`,
      { cause: error },
    );
  }

  #lost(agent: SmcpAgent): void {
    void this.#agent?.then((current) => {
      if (current === agent) void this.giveUp();
    }, () => {});
  }
}

/** Counts what is in use, or in flight. */
export class Uses {
  /** How much it is. */
  count = 0;
  readonly #idle: () => void;
  readonly #idleMs: number;
  readonly #waiting = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** @param idle called each time that the last use has ended so long ago */
  constructor(idle = () => {}, idleMs = 0) {
    this.#idle = idle;
    this.#idleMs = idleMs;
  }

  /** Begins a use; returns what ends it, once. */
  begin(): () => void {
    clearTimeout(this.#timer);
    this.count++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.count > 0) return;
      for (const resolve of this.#waiting) resolve();
      if (this.#isClosed || this.#idleMs === 0) return;
      this.#timer = setTimeout(this.#idle, this.#idleMs);
    };
  }

  /** Waits until nothing is in use; returns whether that came to be in time. */
  async ended(timeoutMs: number): Promise<boolean> {
    if (this.count === 0) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    this.#waiting.add(resolve);
    await promise;
    this.#waiting.delete(resolve);
    clearTimeout(timer);
    return this.count === 0;
  }

  /** Calls nothing any more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
