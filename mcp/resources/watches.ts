/**
 * Subscriptions to resources.
 *
 * `Watches` counts the subscriptions of all clients, and asks a Computer to notify a resource while
 * there is one, again after each reconnect. Clients of 2025 subscribe by a request each, those of
 * 2026 with a stream; both end with their connection.
 *
 * @module
 */
import { isRecord } from "../../protocol/names.ts";
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
  type Server,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { type Place, urisOf } from "./uris.ts";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { withTimeout } from "../../shared/async.ts";

/** How long a Computer may take; Python's never answers. */
const WATCH_TIMEOUT_MS = 10_000;

/** A resource that some client has subscribed to. */
interface Watched {
  readonly place: Place;
  /** By how many. */
  count: number;
  /** Settles with the Computer's answer; absent until it is asked. */
  begun: Promise<void> | undefined;
}

/** A client's subscription to a resource. */
export interface Subscription {
  /** Resolves once changes are reported, or will be when the Computer is back. */
  readonly ready: Promise<void>;
  /** Ends it. */
  end(): void;
}

/** Lets Computers notify the resources that clients of any view have subscribed to. */
export class Watches {
  /** By URI of the office. */
  readonly #watched = new Map<string, Watched>();
  #agent: SmcpAgent | undefined;
  #offs: (() => void)[] = [];

  /** Asks through this Agent from now on, also for the subscriptions that there are. */
  use(agent: SmcpAgent): void {
    if (agent === this.#agent) return;
    this.close();
    this.#agent = agent;
    const of = (computer?: string) =>
      [...this.#watched.values()].filter(({ place }) =>
        (computer ?? place.computer) === place.computer
      );
    const again = (computer?: string) => {
      for (const watched of of(computer)) {
        this.#begin(watched)?.catch(() => {
          // Its MCP server may start later, and its tools are announced then.
        });
      }
    };
    const forget = (computer?: string) => {
      for (const watched of of(computer)) watched.begun = undefined;
    };
    const joined = () => {
      forget(); // Computers have seen the Agent leave
      again();
    };
    this.#offs = [
      agent.on("joined", joined),
      agent.on("leaveOffice", ({ computer }) => computer && forget(computer)),
      agent.on("tools", ({ computer, tools }) => tools && again(computer)),
    ];
    joined();
  }

  /** Subscribes one client to a resource; windows and documents are notified anyway. */
  subscribe(place: Place): Subscription {
    const [uri] = urisOf(place);
    const fresh: Watched = { place, count: 0, begun: undefined };
    const watched = this.#watched.get(uri) ?? fresh;
    this.#watched.set(uri, watched);
    watched.count++;
    const ready = this.#begin(watched) ?? watched.begun ?? Promise.resolve();
    ready.catch(() => {}); // not every caller waits for it
    let isOver = false;
    return {
      ready,
      end: () => {
        if (isOver) return;
        isOver = true;
        if (--watched.count > 0) return;
        this.#watched.delete(uri);
        if (!watched.begun || place.kind !== "resource") return;
        const { computer, server, uri: own } = place;
        this.#agent?.watchResource(computer, server, own, { stop: true })
          .catch(() => {
            // It is away, or has forgotten it already.
          });
      },
    };
  }

  /** The URIs of a kind that clients have subscribed to at a Computer. */
  subscribed(computer: string, kind: Place["kind"]): string[] {
    return [...this.#watched]
      .filter(([, { place }]) =>
        place.kind === kind && place.computer === computer
      )
      .map(([uri]) => uri);
  }

  /** Asks for nothing more; the Agent stays as it is. */
  close(): void {
    for (const off of this.#offs.splice(0)) off();
    this.#agent = undefined;
  }

  /** @returns `undefined` when it has begun already, or there is nothing to ask for */
  #begin(watched: Watched): Promise<void> | undefined {
    const { place } = watched;
    const agent = this.#agent;
    if (watched.begun || place.kind !== "resource" || !agent) return undefined;
    const { computer, server, uri } = place;
    const begun = withTimeout(
      WATCH_TIMEOUT_MS,
      (signal) => agent.watchResource(computer, server, uri, { signal }),
    );
    watched.begun = begun;
    return begun.catch((error) => {
      if (watched.begun === begun) watched.begun = undefined;
      if (!isAway(error)) throw error;
    });
  }
}

/** Whether a Computer or its MCP server is not there now: it is asked when its tools are back. */
function isAway(error: unknown): boolean {
  if (!(error instanceof ProtocolError)) return false;
  const { code, fields: { mcp_server, reason } } = error;
  return code === ErrorCode.NOT_FOUND &&
    (mcp_server === undefined || reason !== undefined);
}

/** The revision that has `subscriptions/listen` in place of `resources/subscribe`. */
const STATELESS_SINCE = "2026-07-28";
/** The most URIs of a client. */
const MAX_URIS = 1_000;

/** Subscribes a client to a resource, by a URI as the client writes it. */
export type Subscribe = (uri: string) => Subscription;

/** The resources that the client of a session has subscribed to; later revisions ask the SDK. */
const subscribed = new WeakMap<Server, Map<string, Subscription>>();

/**
 * Subscribes the client of a session.
 *
 * @throws {Error} it cannot be notified of them
 */
export async function subscribe(
  server: Server,
  uri: string,
  begin: Subscribe,
): Promise<void> {
  const uris = openSubscriptions(server);
  if (uris.has(uri)) return;
  if (uris.size >= MAX_URIS) {
    throw new Error(`Too many subscriptions: at most ${MAX_URIS}`);
  }
  const subscription = begin(uri);
  uris.set(uri, subscription);
  try {
    await subscription.ready;
  } catch (error) {
    subscription.end();
    if (uris.get(uri) === subscription) uris.delete(uri);
    throw error;
  }
}

/** Ends its subscription. */
export function unsubscribe(server: Server, uri: string): void {
  const uris = subscribed.get(server);
  uris?.get(uri)?.end();
  uris?.delete(uri);
}

/** Returns whether a client may have subscribed to a resource; since 2026 the SDK keeps its list. */
export const isSubscribed = (server: Server, uri: string): boolean =>
  (server.getNegotiatedProtocolVersion() ?? "") >= STATELESS_SINCE ||
  subscribed.get(server)?.has(uri) === true;

function openSubscriptions(server: Server): Map<string, Subscription> {
  const known = subscribed.get(server);
  if (known) return known;
  const uris = new Map<string, Subscription>();
  subscribed.set(server, uris);
  const { onclose } = server;
  server.onclose = () => {
    onclose?.();
    for (const subscription of uris.values()) subscription.end();
    uris.clear();
  };
  return uris;
}

/** Subscribes to the resources of `subscriptions/listen`; `undefined` for any other message. */
export function subscribeListened(
  message: unknown,
  begin: Subscribe,
): (() => void) | undefined {
  if (!isRecord(message) || message.method !== "subscriptions/listen") {
    return undefined;
  }
  const uris: unknown =
    Object(Object(message.params).notifications).resourceSubscriptions;
  if (!Array.isArray(uris)) return undefined;
  const subscriptions = uris.slice(0, MAX_URIS)
    .filter((uri) => typeof uri === "string")
    .map(begin);
  return () => subscriptions.forEach((each) => each.end());
}

/** Subscribes to the resources of the streams of changes that a client opens over one connection. */
export class ListenStreams {
  readonly #begin: Subscribe;
  /** What ends the subscriptions of each stream. */
  readonly #ends = new Map<RequestId, () => void>();

  constructor(begin: Subscribe) {
    this.#begin = begin;
  }

  /** Takes note of a message of the client. */
  saw(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) {
      const end = subscribeListened(message, this.#begin);
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
