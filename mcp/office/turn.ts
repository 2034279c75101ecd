/**
 * The turn of a client's request.
 *
 * All clients of an office share one Agent, whose Server limits calls a second and calls at once. A
 * request is admitted, waits in the queue for its turn, and is then sent under the `req_id` that was
 * admitted.
 *
 * @module
 */
import { callerIn } from "../caller.ts";
import type { Server } from "@modelcontextprotocol/server";
import type { Admitted, McpCall } from "../options.ts";
import type { ServerParts } from "./server_parts.ts";

/** What a request's turn goes by, of what the MCP SDK hands over with it. */
export interface TurnContext {
  readonly mcpReq: { readonly signal: AbortSignal };
  readonly http?:
    | { readonly authInfo?: Parameters<typeof callerIn>[0] }
    | undefined;
}

/** One request of a client, which waits for its turn among all requests of the seat. */
export class Turn {
  /** Cancels the request. */
  readonly signal: AbortSignal;
  readonly #parts: Pick<ServerParts, "queue" | "options">;
  /** Who sends it. */
  readonly #sender: Pick<McpCall, "principal" | "grant" | "client">;

  constructor(
    server: Pick<Server, "getClientVersion">,
    { mcpReq, http }: TurnContext,
    parts: Pick<ServerParts, "queue" | "options" | "cancelled">,
  ) {
    const { cancelled } = parts;
    this.signal = cancelled
      ? AbortSignal.any([mcpReq.signal, cancelled()])
      : mcpReq.signal;
    this.#parts = parts;
    const { principal, grant } = callerIn(http?.authInfo);
    const { name, version } = server.getClientVersion() ?? {};
    this.#sender = {
      ...(principal !== undefined && { principal }),
      ...(grant !== undefined && { grant: grant.id }),
      ...(name !== undefined && version !== undefined &&
        { client: { name, version } }),
    };
  }

  /**
   * Makes the Agent's request, when it is admitted and has its turn.
   *
   * @param work sends it under the `req_id` that was admitted
   * @throws what refuses it, the signal's reason, or what the work throws
   */
  async run<T>(
    subject: Pick<McpCall, "computer" | "tool" | "uri" | "prompt">,
    work: (request: { signal: AbortSignal; reqId: string }) => Promise<T>,
  ): Promise<T> {
    const { queue, options } = this.#parts;
    const { signal } = this;
    const reqId = crypto.randomUUID();
    const call = { reqId, ...subject, ...this.#sender };
    const ended: Admitted = await options.admit?.(call);
    try {
      return await queue.run(() => work({ signal, reqId }), signal);
    } finally {
      ended?.();
    }
  }
}
