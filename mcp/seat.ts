/**
 * The seat of an office, and what holds it.
 *
 * A seat is an `SmcpAgent` within the Server's process, made when a request needs it. While it
 * leaves, or is lent to another Agent, the next request waits. `Uses` counts what is in flight, and
 * calls back when nothing has been for a while.
 *
 * @module
 */
import { officePathOf } from "../agent/office_path.ts";
import { ConnectionError, SmcpAgent } from "../agent/mod.ts";
import { withTimeout } from "../shared/async.ts";
import { IdleTimer } from "../shared/time/idle_timer.ts";
import type { GatewayHost } from "../shared/gateway.ts";

/** How long another Agent has the seat, before its leave is no longer waited for. */
const LOAN_MS = 8_000;

/** The one seat of an office for an Agent: taken when it is needed, and left when it is not. */
export class Seat {
  readonly #office: string;
  readonly #id: string;
  readonly #name: string;
  readonly #host: GatewayHost;
  #taken: Promise<SmcpAgent> | undefined;
  /** Resolves when the seat that was left is free. */
  #leaving: Promise<void> = Promise.resolve();
  #endLoan = () => {};

  /**
   * Makes a seat that is not taken.
   *
   * @param id of the office, for its Computers
   * @param name of the Agent
   */
  constructor(
    { office, id }: { readonly office: string; readonly id: string },
    name: string,
    host: GatewayHost,
  ) {
    this.#office = office;
    this.#id = id;
    this.#name = name;
    this.#host = host;
  }

  /** Whether it is taken, or about to be. */
  get isTaken(): boolean {
    return this.#taken !== undefined;
  }

  /**
   * Takes the seat, unless it is taken.
   *
   * @throws {Error} naming the Agent that has it, and what to do
   */
  readonly take = (): Promise<SmcpAgent> => {
    if (this.#taken) return this.#taken;
    const lost = () => {
      if (this.#taken === taking) void this.leave();
    };
    const taking = this.#taken = this.#join(lost);
    taking.catch(lost);
    return taking;
  };

  /**
   * Leaves the seat to another Agent; resolves when it is free. Until `endLoan`, but 8 seconds at
   * most, `take` waits: most Agents stay for one call.
   */
  lend(): Promise<void> {
    this.#endLoan();
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LOAN_MS);
    this.#endLoan = () => {
      clearTimeout(timer);
      resolve();
    };
    return this.leave(promise);
  }

  /** Ends the wait for another Agent. */
  endLoan(): void {
    this.#endLoan();
  }

  /**
   * Leaves the seat; resolves when it is free.
   *
   * @param until what the next `take` waits for
   */
  leave(until?: Promise<void>): Promise<void> {
    const before = this.#leaving;
    const left = this.#taken?.then((agent) => agent.close(), () => before) ??
      before;
    this.#taken = undefined;
    this.#leaving = left.then(() => until);
    return left;
  }

  async #join(lost: () => void): Promise<SmcpAgent> {
    await this.#leaving;
    const connection = this.#host.connect();
    const agent = new SmcpAgent({ connection, name: this.#name });
    officePathOf(agent).name(this.#id);
    try {
      await agent.connect();
      await agent.join(this.#office);
    } catch (error) {
      await agent.close();
      throw await this.#explained(error);
    }
    // Another Agent may have the seat after an interruption: the next request tries again.
    agent.on("rejoinFailed", lost);
    agent.on("refused", lost);
    return agent;
  }

  async #explained(error: unknown): Promise<unknown> {
    const isRefused = error instanceof ConnectionError &&
      error.code === "refused";
    const holder = isRefused
      ? await this.#host.agentOf(this.#office)
      : undefined;
    if (holder === undefined) return error;
    const { name, node } = holder;
    const [place, rule] = node === undefined ? ["", ""] : [
      ` at the node ${JSON.stringify(node)}`,
      "; where it serves MCP clients, a balancer leads all of an office to one node",
    ];
    return new Error(
      `The office ${JSON.stringify(this.#office)} is in use by its Agent ${
        JSON.stringify(name)
      }${place}, and has one seat: stop that Agent, or let it leave the office, and try again${rule}`,
      { cause: error },
    );
  }
}

/** Counts what is in use, or in flight. */
export class Uses {
  /** The uses that have not ended. */
  count = 0;
  readonly #idle: IdleTimer | undefined;
  /** Resolves when the last one ends, where that is waited for. */
  #ended: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  /** @param idle called `idleMs` after the last use has ended, unless another one has begun */
  constructor(idle?: () => void, idleMs = 0) {
    this.#idle = idle && new IdleTimer(idle, idleMs);
  }

  /** Begins a use; returns what ends it, once. */
  begin(): () => void {
    if (this.count++ === 0) this.#idle?.begin();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.count > 0) return;
      this.#ended?.resolve();
      this.#ended = undefined;
      if (!this.#isClosed) this.#idle?.end();
    };
  }

  /** Waits until nothing is in use; returns whether that was in time. */
  async ended(timeoutMs: number): Promise<boolean> {
    if (this.count > 0) {
      const { promise } = this.#ended ??= Promise.withResolvers();
      await withTimeout(timeoutMs, () => promise).catch(() => {});
    }
    return this.count === 0;
  }

  /** Ends the calls of `idle`. */
  close(): void {
    this.#isClosed = true;
    this.#idle?.stop();
  }
}
