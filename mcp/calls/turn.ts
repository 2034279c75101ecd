import type { Server, ServerContext } from "@modelcontextprotocol/server";
import type { Admitted, McpCall, ResolvedOptions } from "../options.ts";
import type { CallQueue } from "./call_queue.ts";

/** What a request of a client is for. */
export type McpSubject = Pick<McpCall, "computer" | "tool" | "uri" | "prompt">;

/** Who asks, as far as is known. */
export interface Caller {
  /** Whom the HTTP request was of. */
  readonly principal: string | undefined;
  /** What the client calls itself. */
  readonly client: McpCall["client"] | undefined;
}

/** What a client's request needs to get its turn. */
export interface TurnParts {
  /** The turns of all requests of the seat. */
  readonly queue: CallQueue;
  /** Who decides whether it may. */
  readonly options: Pick<ResolvedOptions, "admit">;
  /** Gives the request up. */
  readonly signal: AbortSignal;
  /** Who asks. */
  readonly caller: Caller;
}

/** Gives the signal that cancels whatever a server does now; absent where the requests' own do. */
export type Cancelled = (() => AbortSignal) | undefined;

/** Returns what gives a request up: its own end, or that of all requests of its server. */
export const signalOf = (
  { signal }: ServerContext["mcpReq"],
  cancelled: Cancelled,
): AbortSignal => cancelled ? AbortSignal.any([signal, cancelled()]) : signal;

/** Returns who has sent a message. */
export const callerOf = (server: Server, { http }: ServerContext): Caller => ({
  principal: http?.authInfo?.clientId,
  client: server.getClientVersion(),
});

/**
 * Makes an Agent's request for a client, when it is admitted and has its turn.
 *
 * @param work sends it under the `req_id` that was admitted
 * @throws what refuses it, the signal's reason, or what the work throws
 */
export async function inTurn<T>(
  subject: McpSubject,
  { queue, options, signal, caller: { principal, client } }: TurnParts,
  work: (reqId: string) => Promise<T>,
): Promise<T> {
  const reqId = crypto.randomUUID();
  const ended: Admitted = await options.admit?.({
    reqId,
    ...subject,
    ...(principal !== undefined && { principal }),
    ...(client && { client: { name: client.name, version: client.version } }),
  });
  try {
    return await queue.run(() => work(reqId), signal);
  } finally {
    ended?.();
  }
}
