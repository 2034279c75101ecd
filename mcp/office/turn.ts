/**
 * The turn of a client's request.
 *
 * All clients of an office share one Agent, whose Server limits calls a second and calls at once. A
 * request is admitted, waits in the queue for its turn, and is then sent under the `req_id` that was
 * admitted.
 *
 * @module
 */
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import type { Admitted, McpCall } from "../options.ts";
import type { ServerParts } from "./server.ts";
import { onAbort } from "../../shared/async.ts";

/** One request of a client, which waits for its turn among all requests of the seat. */
export type Turn = ReturnType<typeof turnOf>;

/** Returns the turn of a request. */
export function turnOf(
  server: Server,
  { mcpReq, http }: ServerContext,
  { queue, options, cancelled }: ServerParts,
) {
  const principal = http?.authInfo?.clientId;
  const { name, version } = server.getClientVersion() ?? {};
  const signal = cancelled
    ? AbortSignal.any([mcpReq.signal, cancelled()])
    : mcpReq.signal;
  return {
    /** Gives the request up. */
    signal,
    /**
     * Makes the Agent's request for it, when it is admitted and has its turn.
     *
     * @param work sends it under the `req_id` that was admitted
     * @throws what refuses it, the signal's reason, or what the work throws
     */
    async run<T>(
      subject: Pick<McpCall, "computer" | "tool" | "uri" | "prompt">,
      work: (request: { signal: AbortSignal; reqId: string }) => Promise<T>,
    ): Promise<T> {
      const reqId = crypto.randomUUID();
      const ended: Admitted = await options.admit?.({
        reqId,
        ...subject,
        ...(principal !== undefined && { principal }),
        ...(name !== undefined && version !== undefined &&
          { client: { name, version } }),
      });
      try {
        return await queue.run(() => work({ signal, reqId }), signal);
      } finally {
        ended?.();
      }
    },
  };
}

/** Lets the calls of a seat begin in their order. */
export type CallQueue = ReturnType<typeof callQueue>;

/**
 * Lets calls begin in their order, as many as the limits of the Agent's seat allow: all clients
 * share that seat, and a refused call helps none of them.
 *
 * @param perSecond the most that begin in a second, and how many may begin at once
 * @param most that run at once
 */
export function callQueue(perSecond: number, most: number) {
  const waiting = new Set<() => void>();
  let running = 0;
  /** How many may begin now. */
  let allowance = perSecond;
  let allowedAt = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const turn = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const off = onAbort(signal, () => {
        waiting.delete(begin);
        next();
        reject(signal.reason);
      });
      const begin = () => {
        off();
        resolve();
      };
      waiting.add(begin);
      next();
    });

  function next(): void {
    if (perSecond < Infinity) { // Infinity times no time at all is NaN
      const now = performance.now();
      const earned = (now - allowedAt) * perSecond / 1000;
      allowance = Math.min(perSecond, allowance + earned);
      allowedAt = now;
    }
    for (const begin of waiting) {
      if (running >= most) return; // the end of a call goes on
      if (allowance < 1) {
        const ms = Math.ceil((1 - allowance) * 1000 / perSecond);
        timer ??= setTimeout(() => {
          timer = undefined;
          next();
        }, ms);
        return;
      }
      waiting.delete(begin);
      allowance--;
      running++;
      begin();
    }
    clearTimeout(timer); // nobody waits for it any more
    timer = undefined;
  }

  return {
    /** How many wait. */
    waiting: () => waiting.size,
    /**
     * Runs work in its turn.
     *
     * @throws the signal's reason, as soon as that is aborted while the work waits
     */
    async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
      await turn(signal);
      try {
        return await work();
      } finally {
        running--;
        next();
      }
    },
  };
}
