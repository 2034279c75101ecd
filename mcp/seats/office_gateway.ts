import { httpError, RpcError } from "../http/http_error.ts";
import { onBodyEnd } from "../http/open_bodies.ts";
import type { AgentProvider } from "../office/office_view.ts";
import type { McpCall, OfficeMcpOptions } from "../options.ts";
import type { ResolvedGatewayOptions } from "./gateway_options.ts";
import type { SeatHost } from "./host.ts";
import { IdleTimer } from "./idle_timer.ts";
import { Seat } from "./seat.ts";

/** How long the end waits for the results of calls that have ended. */
const END_TIMEOUT_MS = 1000;
/** The share of an Agent's limits that is for calls; the rest is for all else. */
const CALL_SHARE = 0.9;

/** The part of an `OfficeMcp` that a gateway needs. */
export interface OfficeFace {
  /** Answers a request. */
  handle(
    request: Request,
    caller: { readonly principal?: string },
  ): Promise<Response>;
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
  #running = 0;
  #idle: (() => void) | undefined;
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
    const end = served.timer.use();
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
    }
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
    const face = this.#serve(seat.take, {
      ...this.#options.office,
      admit: (call) => this.#admit(call, timer),
      callsPerSecond: shareOf(eventsPerSecond),
      maxCalls: shareOf(callsPerAgent),
      // The Server has looked at both.
      hosts: "*",
      origins: "*",
      maxBodyBytes: host.maxMessageBytes,
    });
    return { face, seat, timer };
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
   * @param timer of the seat, which a call holds: without it nobody could cancel the call
   * @returns what tells that the call has ended
   */
  #admit(
    { reqId, principal, client }: McpCall,
    timer: IdleTimer,
  ): () => void {
    const release = timer.use();
    const forget = this.#host.attribute(reqId, {
      ...(principal !== undefined && { principal }),
      ...(client && { client: `${client.name} ${client.version}` }),
    });
    this.#running++;
    return () => {
      forget();
      release();
      if (--this.#running === 0) this.#idle?.();
    };
  }

  async #callsEnded(): Promise<void> {
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, END_TIMEOUT_MS);
        this.#idle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    // From the end of a call to its HTTP response there are only promises, which settle before this.
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

async function closeOffice(
  { face, seat, timer }: ServedOffice,
): Promise<void> {
  timer.close();
  await face.close();
  await seat.giveUp();
}

const shareOf = (limit: number): number =>
  Math.max(1, Math.floor(limit * CALL_SHARE));

const isStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("text/event-stream") ?? false;
