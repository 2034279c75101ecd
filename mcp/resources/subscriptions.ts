import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
  type Server,
} from "@modelcontextprotocol/server";
import { isObject } from "../tools/json.ts";
import type { Wish } from "./watches.ts";

/** The revision that has `subscriptions/listen` in place of `resources/subscribe`. */
const STATELESS_SINCE = "2026-07-28";
/** The most URIs of a client. */
const MAX_URIS = 1_000;

/** Lets a resource be watched for a client, by a URI as that knows it. */
export type Want = (uri: string) => Wish;

/** The resources that the client of a session asked to be told of; later revisions ask the SDK. */
const subscribed = new WeakMap<Server, Map<string, Wish>>();

/**
 * Notes that a client wants to know of changes.
 *
 * @throws {Error} it cannot be told of them
 */
export async function subscribe(
  server: Server,
  uri: string,
  want: Want,
): Promise<void> {
  const uris = urisOf(server);
  if (uris.has(uri)) return;
  if (uris.size >= MAX_URIS) {
    throw new Error(`Too many subscriptions: at most ${MAX_URIS}`);
  }
  const wish = want(uri);
  uris.set(uri, wish);
  try {
    await wish.ready;
  } catch (error) {
    wish.release();
    if (uris.get(uri) === wish) uris.delete(uri);
    throw error;
  }
}

/** Notes that it wants so no more. */
export function unsubscribe(server: Server, uri: string): void {
  const uris = subscribed.get(server);
  uris?.get(uri)?.release();
  uris?.delete(uri);
}

/** Returns whether a client may want the changes of a resource; since 2026 the SDK knows what it wants. */
export const isSubscribed = (server: Server, uri: string): boolean =>
  (server.getNegotiatedProtocolVersion() ?? "") >= STATELESS_SINCE ||
  subscribed.get(server)?.has(uri) === true;

function urisOf(server: Server): Map<string, Wish> {
  const known = subscribed.get(server);
  if (known) return known;
  const uris = new Map<string, Wish>();
  subscribed.set(server, uris);
  const { onclose } = server;
  server.onclose = () => {
    onclose?.();
    for (const wish of uris.values()) wish.release();
    uris.clear();
  };
  return uris;
}

/** Lets the resources be watched that a message asks for with `subscriptions/listen`; `undefined` for any other. */
export function wantListened(
  message: unknown,
  want: Want,
): (() => void) | undefined {
  if (!isObject(message) || message.method !== "subscriptions/listen") {
    return undefined;
  }
  const { notifications } = isObject(message.params) ? message.params : {};
  const { resourceSubscriptions } = isObject(notifications)
    ? notifications
    : {};
  if (!Array.isArray(resourceSubscriptions)) return undefined;
  const wishes = resourceSubscriptions.slice(0, MAX_URIS)
    .filter((uri) => typeof uri === "string")
    .map(want);
  return () => wishes.forEach((wish) => wish.release());
}

/** The streams of changes that a client has opened over one connection. */
export class Listening {
  readonly #want: Want;
  readonly #ends = new Map<RequestId, () => void>();

  /** @param want lets a resource be watched */
  constructor(want: Want) {
    this.#want = want;
  }

  /** Takes note of a message of the client. */
  saw(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) {
      const end = wantListened(message, this.#want);
      if (end === undefined) return;
      this.#ends.get(message.id)?.();
      this.#ends.set(message.id, end);
    } else if (
      isJSONRPCNotification(message) &&
      message.method === "notifications/cancelled"
    ) {
      const id = message.params?.requestId as RequestId;
      this.#ends.get(id)?.();
      this.#ends.delete(id);
    }
  }

  /** Ends all of them. */
  end(): void {
    for (const end of this.#ends.values()) end();
    this.#ends.clear();
  }
}
