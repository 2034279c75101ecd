/**
 * The seat of an office, and what holds it.
 *
 * A seat is an `SmcpAgent` within the Server's process, made when a request needs it. While it
 * leaves, or is lent to another Agent, the next one that takes it waits. `Uses` counts what is in
 * flight, and says when nothing has been for a while.
 *
 * @module
 */
import { officePathOf } from "../agent/office_path.ts";
import { ConnectionError, SmcpAgent } from "../agent/mod.ts";
import { withTimeout } from "../shared/async.ts";
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
  /** Finds the Agent that sits in an office, and the node of a cluster that has it, where that is another one. */
  agentOf(
    office: string,
  ): Promise<{ readonly name: string; readonly node?: string } | undefined>;
  /** Names who makes a call; returns what forgets it again. */
  attribute(reqId: string, source: CallSource): () => void;
}

/** How long an Agent has the seat to itself that got it from here, before its end is no longer waited for. */
const LOAN_MS = 8_000;

/** The one seat of an office for an Agent: taken when it is needed, and given up when it is not. */
export type Seat = ReturnType<typeof makeSeat>;

/**
 * Makes a seat that nobody has taken.
 *
 * @param id of the office, for its Computers
 * @param name of the Agent that sits there
 */
export function makeSeat(
  { office, id }: { readonly office: string; readonly id: string },
  name: string,
  host: SeatHost,
) {
  let taken: Promise<SmcpAgent> | undefined;
  /** Ends when the seat that was given up is free. */
  let leaving = Promise.resolve();
  let endLoan = () => {};

  const giveUp = (until?: Promise<void>): Promise<void> => {
    const before = leaving;
    const left = taken?.then((agent) => agent.close(), () => before) ?? before;
    taken = undefined;
    leaving = left.then(() => until);
    return left;
  };

  async function sit(lost: () => void): Promise<SmcpAgent> {
    await leaving;
    const agent = new SmcpAgent({ connection: host.connect(), name });
    officePathOf(agent).name(id);
    try {
      await agent.connect();
      await agent.join(office);
    } catch (error) {
      await agent.close();
      throw await explained(error);
    }
    // Somebody else may have the seat after an interruption: the next request tries again.
    agent.on("rejoinFailed", lost);
    agent.on("refused", lost);
    return agent;
  }

  async function explained(error: unknown): Promise<unknown> {
    const isRefused = error instanceof ConnectionError &&
      error.code === "refused";
    const holder = isRefused ? await host.agentOf(office) : undefined;
    if (holder === undefined) return error;
    const { name, node } = holder;
    const [place, rule] = node === undefined ? ["", ""] : [
      ` at the node ${JSON.stringify(node)}`,
      "; where it serves MCP clients, a balancer leads all of an office to one node",
    ];
    return new Error(
      `The office ${JSON.stringify(office)} is in use by its Agent ${
        JSON.stringify(name)
      }${place}, and has one seat: stop that Agent, or let it leave the office, and try again${rule}`,
      { cause: error },
    );
  }

  return {
    /** Whether it is taken, or about to be. */
    isTaken: (): boolean => taken !== undefined,
    /**
     * Takes the seat, unless it is taken.
     *
     * @throws {Error} somebody else sits there; says who, and what to do
     */
    take: (): Promise<SmcpAgent> => {
      if (taken) return taken;
      const lost = () => {
        if (taken === taking) void giveUp();
      };
      const taking = taken = sit(lost);
      taking.catch(lost);
      return taking;
    },
    /**
     * Gives the seat up to another Agent; resolves when it is free. Until `returned`, but 8 seconds at
     * most, `take` waits: most Agents stay for one call.
     */
    lend: (): Promise<void> => {
      endLoan();
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, LOAN_MS);
      endLoan = () => {
        clearTimeout(timer);
        resolve();
      };
      return giveUp(promise);
    },
    /** Ends the wait for another Agent. */
    returned: () => endLoan(),
    /** Gives the seat up; resolves when it is free. */
    giveUp: () => giveUp(),
  };
}

/** Counts what is in use, or in flight. */
export class Uses {
  /** How much it is. */
  count = 0;
  readonly #idle: (() => void) | undefined;
  readonly #idleMs: number;
  #ended = Promise.withResolvers<void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** @param idle called each time that the last use has ended `idleMs` ago */
  constructor(idle?: () => void, idleMs = 0) {
    this.#idle = idle;
    this.#idleMs = idleMs;
  }

  /** Begins a use; returns what ends it, once. */
  begin(): () => void {
    clearTimeout(this.#timer);
    if (this.count++ === 0) this.#ended = Promise.withResolvers();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.count > 0) return;
      this.#ended.resolve();
      if (this.#isClosed || !this.#idle) return;
      this.#timer = setTimeout(this.#idle, this.#idleMs);
    };
  }

  /** Waits until nothing is in use; returns whether that came to be in time. */
  async ended(timeoutMs: number): Promise<boolean> {
    if (this.count > 0) {
      await withTimeout(timeoutMs, () => this.#ended.promise).catch(() => {});
    }
    return this.count === 0;
  }

  /** Calls nothing any more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
