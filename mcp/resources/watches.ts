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
import { type Place, uriOf } from "./uris.ts";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { withTimeout } from "../../shared/async.ts";

/** How long a Computer may take; Python's never answers. */
const WATCH_TIMEOUT_MS = 10_000;

/** A resource that some client has subscribed to. */
interface Wanted {
  readonly place: Place;
  /** By how many. */
  count: number;
  /** Settles with the Computer's answer; absent until it is asked. */
  begun: Promise<void> | undefined;
}

/** A client's subscription to a resource. */
export interface Wish {
  /** Resolves once changes are reported, or will be when the Computer is back. */
  readonly ready: Promise<void>;
  /** Ends it. */
  release(): void;
}

/** Lets Computers tell of the resources that clients of any view have subscribed to. */
export class Watches {
  /** By URI of the office. */
  readonly #wanted = new Map<string, Wanted>();
  #agent: SmcpAgent | undefined;
  #offs: (() => void)[] = [];

  /** Asks through this Agent from now on, for what is wanted already too. */
  use(agent: SmcpAgent): void {
    if (agent === this.#agent) return;
    this.close();
    this.#agent = agent;
    const of = (computer?: string) =>
      [...this.#wanted.values()].filter(({ place }) =>
        (computer ?? place.computer) === place.computer
      );
    const again = (computer?: string) => {
      for (const wanted of of(computer)) {
        this.#begin(wanted)?.catch(() => {
          // Its MCP server may start later, and its tools are announced then.
        });
      }
    };
    const forget = (computer?: string) => {
      for (const wanted of of(computer)) wanted.begun = undefined;
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

  /** Lets a resource be watched for one client more; windows and documents are notified anyway. */
  want(place: Place): Wish {
    const uri = uriOf(place);
    const fresh: Wanted = { place, count: 0, begun: undefined };
    const wanted = this.#wanted.get(uri) ?? fresh;
    this.#wanted.set(uri, wanted);
    wanted.count++;
    const ready = this.#begin(wanted) ?? wanted.begun ?? Promise.resolve();
    ready.catch(() => {}); // for who does not wait for it
    let isOver = false;
    return {
      ready,
      release: () => {
        if (isOver) return;
        isOver = true;
        if (--wanted.count > 0) return;
        this.#wanted.delete(uri);
        if (!wanted.begun || place.kind !== "resource") return;
        const { computer, server, uri: own } = place;
        this.#agent?.watchResource(computer, server, own, { stop: true })
          .catch(() => {
            // It is away, or has forgotten it already.
          });
      },
    };
  }

  /** The URIs of a kind that are wanted of a Computer. */
  wanted(computer: string, kind: Place["kind"]): string[] {
    return [...this.#wanted]
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
  #begin(wanted: Wanted): Promise<void> | undefined {
    const { place } = wanted;
    const agent = this.#agent;
    if (wanted.begun || place.kind !== "resource" || !agent) return undefined;
    const { computer, server, uri } = place;
    const begun = withTimeout(
      WATCH_TIMEOUT_MS,
      (signal) => agent.watchResource(computer, server, uri, { signal }),
    );
    wanted.begun = begun;
    return begun.catch((error) => {
      if (wanted.begun === begun) wanted.begun = undefined;
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

/** Lets a resource be watched for a client, by a URI as the client writes it. */
export type Want = (uri: string) => Wish;

/** The resources that the client of a session has subscribed to; later revisions ask the SDK. */
const subscribed = new WeakMap<Server, Map<string, Wish>>();

/**
 * Notes that a client wants to know of changes.
 *
 * @throws {Error} it cannot be notified of them
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

/** Returns whether a client may want the changes of a resource; since 2026 the SDK keeps its list. */
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
  if (!isRecord(message) || message.method !== "subscriptions/listen") {
    return undefined;
  }
  const uris: unknown =
    Object(Object(message.params).notifications).resourceSubscriptions;
  if (!Array.isArray(uris)) return undefined;
  const wishes = uris.slice(0, MAX_URIS)
    .filter((uri) => typeof uri === "string")
    .map(want);
  return () => wishes.forEach((wish) => wish.release());
}

/**
 * Lets the resources be watched that the streams of changes ask for which a client opens over one
 * connection.
 */
export function watchListened(want: Want) {
  const ends = new Map<RequestId, () => void>();
  return {
    /** Takes note of a message of the client. */
    saw(message: JSONRPCMessage): void {
      if (isJSONRPCRequest(message)) {
        const end = wantListened(message, want);
        if (end === undefined) return;
        ends.get(message.id)?.();
        ends.set(message.id, end);
      } else if (
        isJSONRPCNotification(message) &&
        message.method === "notifications/cancelled"
      ) {
        const id = message.params?.requestId as RequestId;
        ends.get(id)?.();
        ends.delete(id);
      }
    },
    /** Ends all of them. */
    end(): void {
      for (const end of ends.values()) end();
      ends.clear();
    },
  };
}
