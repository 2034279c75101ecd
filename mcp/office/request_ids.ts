import {
  type JSONRPCMessage,
  type RequestId,
  SUBSCRIPTION_ID_META_KEY,
} from "@modelcontextprotocol/server";
import { isRecord } from "../../protocol/names.ts";

/**
 * Gives each request of a client a unique id, since clients use one for several at once: each
 * must get its own answer.
 *
 * Ours has the client's in it, so that an answer needs no table. A cancellation that means several
 * requests ends all of them: which one the client cancels is unknown.
 */
export class RequestIds {
  #count = 0;
  /** Our ids of requests without an answer, by the client's. */
  readonly #open = new Map<RequestId, Set<string>>();

  /** Our ids of all requests without an answer. */
  get open(): string[] {
    return [...this.#open.values()].flatMap((ids) => [...ids]);
  }

  /** Gives a request a unique id; anything else is returned as it is. */
  begin<T>(message: T): T {
    if (!isRecord(message) || typeof message.method !== "string") {
      return message;
    }
    const { id } = message;
    if (typeof id !== "string" && typeof id !== "number") return message;
    const own = `${++this.#count}:${JSON.stringify(id)}`;
    const open = this.#open.get(id) ?? new Set();
    this.#open.set(id, open.add(own));
    return { ...message, id: own };
  }

  /** Returns a message of the client with unique ids. */
  take(message: JSONRPCMessage): JSONRPCMessage[] {
    return this.spread(this.begin(message));
  }

  /** Returns a cancellation once for each request that it means; any other message as it is. */
  spread(message: JSONRPCMessage): JSONRPCMessage[] {
    const cancelled = cancelledBy(message);
    if (cancelled === undefined) return [message];
    const open = this.#open.get(cancelled) ?? [];
    this.#open.delete(cancelled);
    const params = "params" in message ? message.params : {};
    return [...open].map((requestId) => ({
      jsonrpc: "2.0",
      method: CANCELLED,
      params: { ...params, requestId },
    }));
  }

  /** Returns a message for the client with the client's ids. */
  giveBack(message: JSONRPCMessage): JSONRPCMessage {
    if ("method" in message) {
      const { params } = message;
      if ("id" in message || params === undefined) return message;
      return { ...message, params: stamped(params) };
    }
    const { id: own } = message;
    if (own === undefined) return message;
    this.end(own);
    const id = toClientId(own);
    return "result" in message
      ? { ...message, id, result: stamped(message.result) }
      : { ...message, id };
  }

  /** Forgets a request that has or gets no answer. */
  end(own: RequestId): void {
    const id = toClientId(own);
    const open = this.#open.get(id);
    open?.delete(String(own));
    if (open?.size === 0) this.#open.delete(id);
  }
}

const CANCELLED = "notifications/cancelled";

/** The request that a client cancels with a message, if it does. */
export function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  if (!("method" in message) || "id" in message) return undefined;
  if (message.method !== CANCELLED) return undefined;
  const id = message.params?.requestId;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** The client's id in one of ours; any other as it is. */
function toClientId(own: RequestId): RequestId {
  if (typeof own !== "string" || !/^\d+:/.test(own)) return own;
  try {
    const id: unknown = JSON.parse(own.slice(own.indexOf(":") + 1));
    return typeof id === "number" ? id : String(id);
  } catch {
    return own;
  }
}

/** Metadata names the request whose stream of changes a message belongs to. */
function stamped<T extends { _meta?: Record<string, unknown> | undefined }>(
  value: T,
): T {
  const own = value._meta?.[SUBSCRIPTION_ID_META_KEY];
  if (typeof own !== "string") return value;
  const _meta = { ...value._meta, [SUBSCRIPTION_ID_META_KEY]: toClientId(own) };
  return { ...value, _meta };
}
