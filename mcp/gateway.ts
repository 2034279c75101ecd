/**
 * The offices of one Server over MCP.
 *
 * An office is opened by its first request, and keeps its sessions and the names of its tools until
 * another one needs its room. Its seat is another matter: requests, open streams and calls hold it,
 * and it is given up when nothing has held it for a while, or lent to an Agent of the same principal
 * once nothing is in flight.
 *
 * @module
 */
import type { McpCaller } from "./http/face.ts";
import { refusal, untilEnd } from "./http/guards.ts";
import type { AgentProvider } from "./office/office_view.ts";
import type {
  McpCall,
  OfficeMcpOptions,
  ResolvedGatewayOptions,
} from "./options.ts";
import { Seat, type SeatHost, Uses } from "./seat.ts";

/** How long the end waits for the results of calls that have ended. */
const END_TIMEOUT_MS = 1000;
/** How long a join waits for the end of requests. */
const MAKE_WAY_MS = 2000;
/** The share of an Agent's limits that is for calls; the rest is for all else. */
const CALL_SHARE = 0.9;

/** Makes the MCP server of an office: the part of an `OfficeMcp` that a gateway needs. */
type ServeOffice = (agent: AgentProvider, options: OfficeMcpOptions) => {
  handle(request: Request, caller: McpCaller): Promise<Response>;
  refresh(): Promise<void>;
  close(): Promise<void>;
};

/** An office that is served, with its seat. */
interface ServedOffice {
  readonly face: ReturnType<ServeOffice>;
  readonly seat: Seat;
  /** What holds the seat: requests, until their streams end, and calls. */
  readonly uses: Uses;
  /** Requests that have no response yet. */
  readonly requests: Uses;
  /** Calls, reads and prompts, which may run on behind the response's headers. */
  readonly calls: Uses;
  /** Who has used the seat since it was taken. */
  readonly users: Users;
}

/**
 * The offices of a Server as MCP servers. Each has one seat for an Agent, which all MCP clients share:
 * it is taken with the first request, and given up when nobody has used it for a while. What clients
 * have been notified of, their sessions and the names of tools, stays.
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
    { office, ...caller }: McpCaller & { readonly office: string },
  ): Promise<Response> {
    if (this.#isClosed) {
      return refusal(503, "The server is shutting down");
    }
    const served = this.#find(office);
    if (served === undefined) {
      return refusal(
        503,
        `Too many offices are in use: at most ${this.#options.maxOffices} at once`,
      );
    }
    const { face, seat, users, uses, requests } = served;
    if (uses.count === 0 && !seat.isTaken) users.clear();
    users.add(caller.principal);
    const end = uses.begin();
    const answered = requests.begin();
    try {
      return await untilEnd(() => face.handle(request, caller), end, isStream);
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
    if (served.uses.count === 0 || this.#isClosed) return;
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
    const uses = new Uses(() => void seat.giveUp(), seatIdleMs);
    const [requests, calls] = [new Uses(), new Uses()];
    const face = this.#serve(seat.take, {
      ...this.#options.office,
      admit: (call) => this.#admit(call, { uses, calls }),
      callsPerSecond: shareOf(eventsPerSecond),
      maxCalls: shareOf(callsPerAgent),
      // The Server has looked at both.
      hosts: "*",
      origins: "*",
      maxBodyBytes: host.maxMessageBytes,
    });
    return { face, seat, uses, requests, calls, users: new Users() };
  }

  /** Forgets the office that was used longest ago where no other one has room. */
  #makeRoom(): boolean {
    if (this.#offices.size < this.#options.maxOffices) return true;
    const [office, served] = [...this.#offices]
      .find(([, { uses }]) => uses.count === 0) ?? [];
    if (office === undefined || served === undefined) return false;
    this.#offices.delete(office);
    void closeOffice(served);
    return true;
  }

  /**
   * Lets a call hold the seat, without which nobody could cancel it.
   *
   * @returns what ends that
   */
  #admit(
    { reqId, principal, client }: McpCall,
    { uses, calls }: Pick<ServedOffice, "uses" | "calls">,
  ): () => void {
    const release = uses.begin();
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

async function closeOffice({ face, seat, uses }: ServedOffice): Promise<void> {
  uses.close();
  seat.returned();
  await face.close();
  await seat.giveUp();
}

const shareOf = (limit: number): number =>
  Math.max(1, Math.floor(limit * CALL_SHARE));

const isStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("text/event-stream") ?? false;

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
