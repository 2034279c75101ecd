import type { InProcessConnection } from "../../shared/in_process.ts";
import type { Limits } from "../limits/limits.ts";
import type { CallSource } from "../observe/call_sources.ts";

/**
 * Serves offices in another protocol over HTTP, such as MCP: it sits in an office as its Agent, and
 * answers requests for `PATH/OFFICE`, which the Server has admitted.
 */
export interface Gateway {
  /** The path before the name of the office, such as `/mcp`. */
  readonly path: string;
  /** Answers a request; its `signal` is aborted when the client goes away. */
  handle(request: Request, caller: GatewayCaller): Promise<Response>;
  /**
   * Gives up the seat of an office to an Agent that may use the office as the gateway's clients do.
   *
   * @param principal as which that Agent is authenticated
   * @returns `undefined` once the seat is free; else who uses it and until when, as the rest of a sentence
   */
  makeWay(
    office: string,
    principal: string | undefined,
  ): Promise<string | undefined>;
  /** Is called when another Agent has left an office, or was not let in after all. */
  seatFreed(office: string): void;
  /** Lets the calls end that have their answers, then ends all requests and gives up all seats. */
  close(): Promise<void>;
}

/** Whose request a gateway answers. */
export interface GatewayCaller {
  /** The office that it may use. */
  readonly office: string;
  /** Who it is authenticated as; absent without authentication. */
  readonly principal?: string;
}

/** What a Server gives its gateway. */
export interface GatewayHost {
  /** What its Agents must stay below. */
  readonly limits: Pick<Limits, "eventsPerSecond" | "callsPerAgent">;
  /** The largest request, in bytes. */
  readonly maxMessageBytes: number;
  /**
   * Connects an Agent of the gateway within the process, as the gateway's and nobody else's.
   *
   * @throws {ProtocolError} 500 when the Server is shutting down
   */
  connect(): InProcessConnection;
  /** Finds the name of the Agent that sits in an office, if this process has it. */
  agentOf(office: string): Promise<string | undefined>;
  /** Names in the audit log who makes the call with this `req_id`; returns what forgets it again. */
  attribute(reqId: string, source: CallSource): () => void;
}
