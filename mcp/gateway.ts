import { httpError, onBodyEnd, RpcError } from "./http/face.ts";
import type { AgentProvider } from "./office/office_view.ts";
import type {
  McpCall,
  OfficeMcpOptions,
  ResolvedGatewayOptions,
} from "./options.ts";
import { IdleTimer, Seat, type SeatHost } from "./seat.ts";

/** How long the end waits for the results of calls that have ended. */
const END_TIMEOUT_MS = 1000;
/** How long a join waits for the end of requests. */
const MAKE_WAY_MS = 2000;
/** The share of an Agent's limits that is for calls; the rest is for all else. */
const CALL_SHARE = 0.9;

/** The part of an `OfficeMcp` that a gateway needs. */
export interface OfficeFace {
  /** Answers a request. */
  handle(
    request: Request,
    caller: { readonly principal?: string },
  ): Promise<Response>;
  /** Asks for the Agent again, and notifies clients if they see something else now. */
  refresh(): Promise<void>;
  /** Ends all requests and sessions. */
  close(): Promise<void>;
}

/** Makes the MCP server of an office. */
export type ServeOffice = (
  agent: AgentProvider,
  options: OfficeMcpOptions,
) => OfficeFace;

/** An office that is served, with its seat. */
interface ServedOffice {
  readonly face: OfficeFace;
  readonly seat: Seat;
  readonly timer: IdleTimer;
  /** Requests that have no response yet. */
  readonly requests: InFlight;
  /** Calls, reads and prompts, which may run on behind the response's headers. */
  readonly calls: InFlight;
  /** Who has used the seat since it was taken. */
  readonly users: Users;
}

/**
 * The offices of a Server as MCP servers. Each has one seat for an Agent, which all MCP clients share:
 * it is taken with the first request, and given up when nobody has used it for a while. What clients
 * have been told of, their sessions and the names of tools, stays.
 */
export class OfficeGateway {
  /** The path before the name of an office. */
  readonly path = "/mcp";
  readonly #host: SeatHost;
  readonly #options: ResolvedGatewayOptions;
  readonly #serve: ServeOffice;
  /** By name; those used longest ago come first. */
  readonly #offices = new Map<string, ServedOffice>();
  #isClosed = false;

  /** @param serve makes the MCP server of an office */
  constructor(
    host: SeatHost,
    options: ResolvedGatewayOptions,
    serve: ServeOffice,
  ) {
    this.#host = host;
    this.#options = options;
    this.#serve = serve;
  }

  /** Answers a request of MCP for an office; its `signal` must be aborted when the client goes away. */
  async handle(
    request: Request,
    { office, principal }: {
      readonly office: string;
      readonly principal?: string;
    },
  ): Promise<Response> {
    if (this.#isClosed) {
      return httpError(503, RpcError.REFUSED, "The server is shutting down");
    }
    const served = this.#find(office);
    if (served === undefined) {
      return httpError(
        503,
        RpcError.REFUSED,
        `Too many offices are in use: at most ${this.#options.maxOffices} at once`,
      );
    }
    const { timer, seat, users, requests } = served;
    if (!timer.isUsed && !seat.isTaken) users.clear();
    users.add(principal);
    const end = timer.use();
    const answered = requests.begin();
    try {
      const response = await served.face.handle(
        request,
        principal === undefined ? {} : { principal },
      );
      if (isStream(response)) return onBodyEnd(response, end);
      end();
      return response;
    } catch (error) {
      end();
      throw error;
    } finally {
      answered();
    }
  }

  /**
   * Gives up the seat of an office to an Agent whose clients alone have used it, once no request of
   * theirs is in flight. Streams stay open: they go on when that Agent has left.
   *
   * @returns `undefined` once the seat is free; else who uses it and until when, as the rest of a sentence
   */
  async makeWay(
    office: string,
    principal: string | undefined,
  ): Promise<string | undefined> {
    const served = this.#offices.get(office);
    if (served === undefined) return undefined;
    const { seat, users, requests, calls } = served;
    const { agentName, seatIdleMs } = this.#options;
    const who = JSON.stringify(agentName);
    const shared =
      `${who} has it for MCP clients with other credentials, until ${
        seatIdleMs / 1000
      } seconds after their last request or stream`;
    if (!users.areOnly(principal)) return shared;
    const isQuiet = await requests.ended(MAKE_WAY_MS) &&
      await calls.ended(MAKE_WAY_MS) &&
      requests.count === 0; // others may have begun meanwhile
    if (!isQuiet) {
      return `${who} has it for MCP clients, until their calls have ended: ${
        Math.max(calls.count, 1)
      } in flight`;
    }
    if (!users.areOnly(principal)) return shared;
    await seat.lend();
    return undefined;
  }

  /** Takes the seat of an office again for open streams, after another Agent has left. */
  seatFreed(office: string): void {
    const served = this.#offices.get(office);
    if (served === undefined) return;
    served.seat.returned();
    if (!served.timer.isUsed || this.#isClosed) return;
    served.face.refresh().catch(() => {
      // Somebody else was faster; the next request says so.
    });
  }

  /** Lets the calls end that have their results, then ends everything, and gives up all seats. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#callsEnded();
    await Promise.all([...this.#offices.values()].map(closeOffice));
    this.#offices.clear();
  }

  #find(office: string): ServedOffice | undefined {
    const known = this.#offices.get(office);
    if (known) {
      this.#offices.delete(office);
    } else if (!this.#makeRoom()) {
      return undefined;
    }
    const served = known ?? this.#open(office);
    this.#offices.set(office, served);
    return served;
  }

  #open(office: string): ServedOffice {
    const { agentName: name, seatIdleMs } = this.#options;
    const host = this.#host;
    const { eventsPerSecond, callsPerAgent } = host.limits;
    const seat = new Seat({ office, name, host });
    const timer = new IdleTimer(seatIdleMs, () => void seat.giveUp());
    const calls = new InFlight();
    const face = this.#serve(seat.take, {
      ...this.#options.office,
      admit: (call) => this.#admit(call, { timer, calls }),
      callsPerSecond: shareOf(eventsPerSecond),
      maxCalls: shareOf(callsPerAgent),
      // The Server has looked at both.
      hosts: "*",
      origins: "*",
      maxBodyBytes: host.maxMessageBytes,
    });
    const requests = new InFlight();
    return { face, seat, timer, requests, calls, users: new Users() };
  }

  /** Forgets the office that was used longest ago where no other one has room. */
  #makeRoom(): boolean {
    if (this.#offices.size < this.#options.maxOffices) return true;
    const [office, served] = [...this.#offices]
      .find(([, { timer }]) => !timer.isUsed) ?? [];
    if (office === undefined || served === undefined) return false;
    this.#offices.delete(office);
    void closeOffice(served);
    return true;
  }

  /**
   * @param use of the seat, which a call holds: without it nobody could cancel the call
   * @returns what tells that the call has ended
   */
  #admit(
    { reqId, principal, client }: McpCall,
    { timer, calls }: Pick<ServedOffice, "timer" | "calls">,
  ): () => void {
    const release = timer.use();
    const forget = this.#host.attribute(reqId, {
      ...(principal !== undefined && { principal }),
      ...(client && { client: `${client.name} ${client.version}` }),
    });
    const ended = calls.begin();
    return () => {
      forget();
      release();
      ended();
    };
  }

  async #callsEnded(): Promise<void> {
    const offices = [...this.#offices.values()];
    await Promise.all(offices.map(({ calls }) => calls.ended(END_TIMEOUT_MS)));
    // From the end of a call to its HTTP response there are only promises, which settle before this.
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

async function closeOffice(
  { face, seat, timer }: ServedOffice,
): Promise<void> {
  timer.close();
  seat.returned();
  await face.close();
  await seat.giveUp();
}

const shareOf = (limit: number): number =>
  Math.max(1, Math.floor(limit * CALL_SHARE));

const isStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("text/event-stream") ?? false;

/** What is in flight. */
class InFlight {
  /** How much it is. */
  count = 0;
  readonly #waiting = new Set<() => void>();

  /** Counts something; returns what ends it, once. */
  begin(): () => void {
    this.count++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.count > 0) return;
      for (const resolve of this.#waiting) resolve();
    };
  }

  /** Waits until nothing is in flight; returns whether that came to be in time. */
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
}

/** Who has used a seat: remembers one principal, and whether there were others. */
class Users {
  #first: { readonly principal: string | undefined } | undefined;
  #areSeveral = false;

  /** Adds one. */
  add(principal: string | undefined): void {
    this.#first ??= { principal };
    if (this.#first.principal !== principal) this.#areSeveral = true;
  }

  /** Returns whether there was no other one. */
  areOnly(principal: string | undefined): boolean {
    return !this.#areSeveral &&
      (this.#first === undefined || this.#first.principal === principal);
  }

  /** Forgets all. */
  clear(): void {
    this.#first = undefined;
    this.#areSeveral = false;
  }
}
