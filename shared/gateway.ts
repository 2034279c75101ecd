/**
 * The contract between a Server and its gateway, which serves offices in another protocol, such as MCP.
 *
 * @module
 */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { ComputerChoice } from "./computer_choice.ts";
import type { InProcessConnection } from "./in_process.ts";

/**
 * Serves offices in another protocol over HTTP, such as MCP: it joins an office as its Agent, and
 * answers requests for `PATH/OFFICE`, which the Server has admitted.
 */
export interface Gateway {
  /** The path before the name of the office, such as `/mcp`. */
  readonly path: string;
  /** The name of its Agents, in all offices. */
  readonly agentName?: string;
  /**
   * Answers a request; its `signal` is aborted when the client goes away.
   *
   * @param body what `answer` has read of it; absent where it is to be read
   */
  handle(
    request: Request,
    caller: GatewayCaller,
    body?: GatewayBody,
  ): Promise<Response>;
  /** Whether a POST with such headers may be usual, so that `answer` gets it. */
  mayAnswer?(headers: IncomingHttpHeaders): boolean;
  /**
   * Answers a POST past `Request` and `Response`, which take longer than all else, where nothing is unusual
   * about it. Nothing has happened where it does not.
   *
   * @returns its body for `handle`; `undefined` where it is answered
   */
  answer?(
    post: GatewayPost,
    caller: GatewayCaller,
  ): Promise<GatewayBody | undefined>;
  /**
   * Frees the seat of an office for an Agent with the principal of all clients that used the seat, once
   * no call is in flight.
   *
   * @param principal as which that Agent is authenticated
   * @returns `undefined` once the seat is free
   */
  freeSeat(
    office: string,
    principal: string | undefined,
  ): Promise<SeatUse | undefined>;
  /**
   * Ends what a client has beyond its requests, such as sessions: its credentials are not valid any more, and
   * its requests have ended.
   */
  forget(caller: GatewayCaller): void;
  /**
   * Called when another Agent has left an office, or was refused after all: open streams may need the
   * seat again.
   */
  seatFreed(office: string): void;
  /** Lets the calls end that have their answers, then ends all requests and leaves all offices. */
  close(): Promise<void>;
}

/** A POST of `node:http`, whose body has come. */
export interface GatewayPost {
  /** Its headers. */
  readonly headers: IncomingHttpHeaders;
  /** What follows `?` in its target. */
  readonly query: string;
  /** Its body. */
  readonly bytes: Uint8Array;
  /** Takes the answer. */
  readonly outgoing: ServerResponse;
}

/** The body of a request: what it was parsed to, which is absent without a body, or why it is refused. */
export type GatewayBody = { readonly json?: unknown } | Response;

/** Whose request a gateway answers. */
export interface GatewayCaller {
  /** The office that it may use. */
  readonly office: string;
  /** Who it is authenticated as; absent without authentication. */
  readonly principal?: string;
  /** The sign-in of a person by which it may; sessions and tasks are those of one. */
  readonly grant?: CallerGrant;
}

/** What a person has allowed a program. */
export interface CallerGrant {
  /** Names it in the audit log, too. */
  readonly id: string;
  /** The Computers that it may use; a client's query can only narrow them. */
  readonly computers: ComputerChoice;
}

/**
 * Returns whose the sessions and tasks of a caller are: its sign-in's, else its principal's. Without authentication
 * they are anybody's who knows their ids, which cannot be guessed.
 */
export const ownerOf = (
  { principal, grant }: Pick<GatewayCaller, "principal" | "grant">,
): string =>
  grant !== undefined
    ? `grant ${grant.id}`
    : principal === undefined
    ? ""
    : `principal ${principal}`;

/** Why a gateway keeps a seat. */
export interface SeatUse {
  /** Name of the Agent that has it. */
  readonly holder: string;
  /** What ends that. */
  readonly until:
    /** Clients with other credentials neither send a request nor have an open stream for `idleMs`. */
    | { readonly kind: "idle"; readonly idleMs: number }
    /** A command, which shares the seat, ends. */
    | { readonly kind: "command" }
    /** The calls in flight end. */
    | { readonly kind: "calls"; readonly inFlight: number }
    /** The tasks of clients end: calls that run on, or wait for a person, without an open request. */
    | { readonly kind: "tasks"; readonly open: number };
}

/** What a Server gives its gateway. */
export interface GatewayHost {
  /** The limits of an Agent. */
  readonly limits: {
    /** Events per second. */
    readonly eventsPerSecond: number;
    /** Calls in flight. */
    readonly callsPerAgent: number;
  };
  /** The largest request, in bytes. */
  readonly maxMessageBytes: number;
  /**
   * Connects an Agent of the gateway within the process.
   *
   * @throws {ProtocolError} 500 when the Server is shutting down
   */
  connect(): InProcessConnection;
  /**
   * Returns, once, the Agent because of which one of the gateway's got no seat in an office, and its
   * node, where that is another one of a cluster.
   */
  agentOf(
    office: string,
  ): Promise<{ readonly name: string; readonly node?: string } | undefined>;
  /**
   * Names in the audit log who makes the call with this `req_id`, and with those that begin with it, by
   * which it is repeated; returns what forgets it again.
   */
  attribute(reqId: string, source: CallSource): () => void;
}

/** Who makes a call that a gateway's Agent sends. */
export interface CallSource {
  /** Who it is authenticated as; absent without authentication. */
  readonly principal?: string;
  /** Name and version of its program, as the program itself states them. */
  readonly client?: string;
  /** The id of the sign-in by which it calls. */
  readonly grant?: string;
}
