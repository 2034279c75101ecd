/**
 * An office of a Server over MCP, and what holds its seat.
 *
 * Requests, open streams and calls hold the seat. It is left when nothing has held it for a while, or
 * lent to an Agent of the same principal once nothing is in flight. Commands that share the seat hold
 * it for as long as they run.
 *
 * @module
 */
import type { McpCaller } from "./caller.ts";
import { refusal, untilEnd } from "./http/guards.ts";
import { isForSeat, SeatDoor } from "./http/seat_door.ts";
import type { HttpViews } from "./http/views.ts";
import type { AgentProvider } from "./office/office_view.ts";
import type {
  McpCall,
  OfficeMcpOptions,
  ResolvedGatewayOptions,
} from "./options.ts";
import { TaskTable } from "./tasks/task_table.ts";
import { Seat, Uses } from "./seat.ts";
import {
  type GatewayBody,
  type GatewayHost,
  type GatewayPost,
  ownerOf,
  type SeatUse,
} from "../shared/gateway.ts";

/** How long a join waits for the end of requests. */
const MAKE_WAY_MS = 2000;
/** The share of an Agent's limits that is for calls; the rest is for all else. */
const CALL_SHARE = 0.9;

/** An office as an MCP server, as a gateway uses it. */
interface GatewayMcp {
  readonly http: Pick<HttpViews, "answer" | "serve" | "forget">;
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** Makes the MCP server of an office. */
export type ServeOffice = (
  agent: AgentProvider,
  options: OfficeMcpOptions,
  tasks: TaskTable,
) => GatewayMcp;

/** An office that is served, with its seat. */
export class ServedOffice {
  readonly #host: GatewayHost;
  readonly #seat: Seat;
  readonly #agentName: string;
  readonly #seatIdleMs: number;
  readonly #mcp: GatewayMcp;
  readonly #table: TaskTable;
  /** For commands that share the seat; absent where MCP clients see a part of the office: a command would see the rest. */
  readonly #commands: SeatDoor | undefined;
  /** What holds the seat: requests, until their streams end, and calls. */
  readonly #uses = new Uses(() => this.#leaveUnused());
  /** Those of MCP clients, for which the seat is kept a while longer. */
  readonly #clientUses: Uses;
  /** Requests that have no response yet. */
  readonly #requests = new Uses();
  /** Calls, reads and prompts, which may run on behind the response's headers. */
  readonly #calls = new Uses();
  /** Tasks, which hold the seat even while they wait for answers of their clients. */
  readonly #tasks = new Uses();
  /** Requests of commands, until their streams end: each command has one that holds the seat. */
  readonly #visits = new Uses();
  /** Which MCP clients have used the seat since it was taken: two at most, which is enough to know that they are several. */
  readonly #users = new Set<string | undefined>();

  /**
   * @param at the name of the office, and the id that its Computers get
   * @param serve makes the MCP server
   */
  constructor(
    at: { readonly office: string; readonly id: string },
    { agentName, seatIdleMs, office: shown }: ResolvedGatewayOptions,
    host: GatewayHost,
    serve: ServeOffice,
  ) {
    this.#host = host;
    this.#agentName = agentName;
    this.#seatIdleMs = seatIdleMs;
    const seat = this.#seat = new Seat(at, agentName, host);
    this.#clientUses = new Uses(() => {
      this.#users.clear();
      this.#leaveUnused();
    }, seatIdleMs);
    const { take } = seat;
    const admit = this.#admit;
    const maxBytes = host.maxMessageBytes;
    const tasks = this.#table = new TaskTable(() =>
      endAll(
        this.#clientUses.begin(),
        this.#uses.begin(),
        this.#tasks.begin(),
      )
    );
    this.#mcp = serve(take, {
      ...shown,
      admit: (call) => endAll(this.#clientUses.begin(), admit(call)),
      callsPerSecond: callShare(host.limits.eventsPerSecond),
      maxCalls: callShare(host.limits.callsPerAgent),
      // The Server has checked both.
      hosts: "*",
      origins: "*",
      maxBodyBytes: maxBytes,
    }, tasks);
    const isWhole = shown.computer === undefined &&
      !shown.include?.length && !shown.exclude?.length;
    if (isWhole) this.#commands = new SeatDoor({ take, admit, maxBytes });
  }

  /** Whether anything holds the seat. */
  get isUsed(): boolean {
    return this.#uses.count > 0;
  }

  /** Whether it has tasks, of which clients may still read how they ended. */
  get hasTasks(): boolean {
    return this.#table.size > 0;
  }

  /**
   * Answers a POST of MCP past `Request` and `Response`, where nothing is unusual about it.
   *
   * @returns its body for `handle`; `undefined` where it is answered
   */
  async answer(
    post: GatewayPost,
    caller: McpCaller,
  ): Promise<GatewayBody | undefined> {
    const end = endAll(this.#begin(caller), this.#requests.begin());
    const body = await this.#mcp.http.answer(post, caller);
    if (body === undefined) post.outgoing.on("close", end);
    else end();
    return body;
  }

  /**
   * Answers a request of MCP, or of a command that shares the seat.
   *
   * @param body what was read of it
   */
  async handle(
    request: Request,
    caller: McpCaller,
    body?: GatewayBody,
  ): Promise<Response> {
    if (isForSeat(request.headers.get("mcp-method"))) {
      return await this.#visit(request, caller);
    }
    const end = this.#begin(caller);
    const answered = this.#requests.begin();
    try {
      const answer = () => this.#mcp.http.serve(request, caller, body);
      return await untilEnd(answer, end, isStream);
    } finally {
      answered();
    }
  }

  /** Holds the seat for a request of an MCP client; returns what ends that. */
  #begin({ principal }: McpCaller): () => void {
    this.#forgetUsers();
    if (this.#users.size < 2) this.#users.add(principal);
    return endAll(this.#clientUses.begin(), this.#uses.begin());
  }

  /** Forgets who used a seat that is not taken any more. */
  #forgetUsers(): void {
    if (!this.isUsed && !this.#seat.isTaken) this.#users.clear();
  }

  /**
   * Frees the seat for an Agent, once no call is in flight; only where all clients that used the seat
   * have that Agent's principal.
   */
  async freeSeat(principal: string | undefined): Promise<SeatUse | undefined> {
    const keep = (until: SeatUse["until"]): SeatUse => ({
      holder: this.#agentName,
      until,
    });
    const isShared = () => [...this.#users].some((user) => user !== principal);
    const shared = keep({ kind: "idle", idleMs: this.#seatIdleMs });
    if (isShared()) return shared;
    if (!await this.#visits.ended(MAKE_WAY_MS)) {
      return keep({ kind: "command" });
    }
    const isQuiet = await this.#requests.ended(MAKE_WAY_MS) &&
      await this.#calls.ended(MAKE_WAY_MS) &&
      this.#tasks.count === 0 &&
      this.#requests.count + this.#visits.count === 0; // others may have begun meanwhile
    if (this.#tasks.count > 0) {
      return keep({ kind: "tasks", open: this.#tasks.count });
    }
    if (!isQuiet) {
      const inFlight = Math.max(this.#calls.count, 1);
      return keep({ kind: "calls", inFlight });
    }
    if (isShared()) return shared;
    await this.#seat.lend();
    return undefined;
  }

  /** Ends the sessions and tasks of a client, whose credentials are not valid any more. */
  forget(caller: McpCaller): void {
    this.#table.forget(ownerOf(caller));
    this.#mcp.http.forget(caller);
  }

  /** Takes the seat again for open streams, after another Agent has left it. */
  seatFreed(): void {
    this.#seat.endLoan();
    if (!this.isUsed) return;
    this.#mcp.refresh().catch(() => {
      // Another Agent was faster, which the next request reports.
    });
  }

  /** Resolves when no call is in flight, after a time at most. */
  async callsEnded(timeoutMs: number): Promise<void> {
    await this.#calls.ended(timeoutMs);
  }

  /** Ends everything, and leaves the office. */
  async close(): Promise<void> {
    this.#uses.close();
    this.#clientUses.close();
    this.#seat.endLoan();
    await Promise.all([this.#mcp.close(), this.#commands?.close()]);
    await this.#seat.leave();
  }

  /** Answers a request of a command. */
  async #visit(request: Request, caller: McpCaller): Promise<Response> {
    this.#forgetUsers();
    const commands = this.#commands;
    // A command would see all Computers, and not only those that a person has chosen.
    if (!commands || caller.grant) {
      return refusal(404, "The seat is not shared here");
    }
    const end = endAll(this.#uses.begin(), this.#visits.begin());
    return await untilEnd(() => commands.handle(request, caller), end);
  }

  /** Leaves the seat where no client keeps it: a command keeps no Agent from it once it has ended. */
  #leaveUnused(): void {
    if (this.#users.size + this.#uses.count === 0) void this.#seat.leave();
  }

  /** Notes that a call is in flight, in the audit log too; returns what ends it. */
  readonly #admit = (
    { reqId, principal, client, grant }: Pick<
      McpCall,
      "reqId" | "principal" | "client" | "grant"
    >,
  ): () => void => {
    const source = {
      ...(principal !== undefined && { principal }),
      ...(client && { client: `${client.name} ${client.version}` }),
      ...(grant !== undefined && { grant }),
    };
    return endAll(
      this.#host.attribute(reqId, source),
      this.#uses.begin(), // without the seat it could not be cancelled
      this.#calls.begin(),
    );
  };
}

const endAll = (...ends: (() => void)[]) => () => ends.forEach((end) => end());

const callShare = (limit: number): number =>
  Math.max(1, Math.floor(limit * CALL_SHARE));

const isStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("text/event-stream") ?? false;
