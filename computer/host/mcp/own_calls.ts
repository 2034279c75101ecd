/**
 * Calls of tools beside the requests of the MCP SDK, whose timers, schemas and copies take longer than all else
 * of a call: its answers are read by `readResult()` in any case.
 *
 * @module
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  ErrorCode,
  type JSONRPCMessage,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { isRecord } from "../../../protocol/names.ts";
import { onAbort } from "../../../shared/async.ts";

/** The first id, far from those of the SDK, which counts from 0; some servers have ids of 32 bits. */
const FIRST_ID = 2 ** 30;

type Result = Record<string, unknown>;

/** A call without an answer. */
interface Pending {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** The calls over one transport; they fail as requests of the MCP SDK do. */
export class OwnCalls {
  readonly #transport: Transport;
  readonly #pending = new Map<unknown, Pending>();
  #nextId = FIRST_ID;
  #hasEnded = false;

  /** @param transport over which the SDK receives messages already */
  constructor(transport: Transport) {
    this.#transport = transport;
    const { onmessage } = transport;
    transport.onmessage = (message, extra) => {
      if (!this.#take(message)) onmessage?.(message, extra);
    };
  }

  /**
   * Sends a call, which may take as long as it needs.
   *
   * @throws {McpError} the server's error, or why there is no answer
   * @throws the transport's error, or the reason of a signal that was aborted before
   */
  async send(params: Result, signal: AbortSignal | undefined): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#hasEnded) throw new Error("Not connected");
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#pending.set(id, { resolve, reject });
    const off = onAbort(signal, () => this.#cancel(id, signal?.reason));
    // The order of the SDK, by which a body is known as a request (requestIdOf() in limited_fetch.ts).
    const message = { method: "tools/call", params, jsonrpc: "2.0", id };
    this.#transport.send(message as JSONRPCMessage).catch(reject);
    try {
      return await promise;
    } finally {
      off();
      this.#pending.delete(id);
    }
  }

  /** Fails all: the connection is closed. */
  end(): void {
    this.#hasEnded = true;
    for (const { reject } of this.#pending.values()) {
      reject(
        McpError.fromError(ErrorCode.ConnectionClosed, "Connection closed"),
      );
    }
  }

  /** Gives a call up, as one that has taken too long. */
  #cancel(id: number, reason: unknown): void {
    const why = String(reason);
    this.#transport.send({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: id, reason: why },
    }).catch(() => {}); // it is gone
    const error = reason instanceof McpError
      ? reason
      : new McpError(ErrorCode.RequestTimeout, why);
    this.#pending.get(id)?.reject(error);
  }

  /** Takes an answer to a call, also a late one; returns whether it is one. */
  #take(message: JSONRPCMessage): boolean {
    if ("method" in message) return false;
    const { id } = message;
    if (typeof id !== "number" || id < FIRST_ID) return false;
    const pending = this.#pending.get(id);
    if ("error" in message) {
      const { code, message: text, data } = message.error;
      pending?.reject(McpError.fromError(code, text, data));
    } else if (isRecord(message.result)) pending?.resolve(message.result);
    else pending?.reject(new Error("The result of a call is no object"));
    return true;
  }
}
