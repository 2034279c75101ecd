import type { Server } from "@modelcontextprotocol/server";

/** The revision that has `subscriptions/listen` in place of `resources/subscribe`. */
const STATELESS_SINCE = "2026-07-28";
/** The most URIs of a client. */
const MAX_URIS = 1_000;

/** The resources that the client of a session asked to be told of; later revisions ask the SDK. */
const subscribed = new WeakMap<Server, Set<string>>();

/** Notes that a client wants to know of changes. */
export function subscribe(server: Server, uri: string): void {
  const uris = subscribed.get(server) ?? new Set();
  if (uris.size < MAX_URIS) uris.add(uri);
  subscribed.set(server, uris);
}

/** Notes that it wants so no more. */
export function unsubscribe(server: Server, uri: string): void {
  subscribed.get(server)?.delete(uri);
}

/** Returns whether a client may want the changes of a resource; since 2026 the SDK knows what it wants. */
export const isSubscribed = (server: Server, uri: string): boolean =>
  (server.getNegotiatedProtocolVersion() ?? "") >= STATELESS_SINCE ||
  subscribed.get(server)?.has(uri) === true;
