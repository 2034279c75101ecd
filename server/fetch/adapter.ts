import type { PlatformSocket } from "../wire/fetch/mod.ts";

/**
 * A platform that calls a `fetch` handler with each request, as the Server uses it: `deno()`, `bun()`,
 * that of Cloudflare Workers, or one of your own.
 *
 * @typeParam Info the second argument of the platform's handler
 */
export interface Adapter<Info> {
  /** The platform's name, for messages. */
  readonly name: string;
  /** Maximum bytes of a message that the platform hands over; default no maximum. */
  readonly maxMessageBytes?: number;
  /**
   * Returns the address of the other end of a request: `localhost` for a socket of this machine, empty
   * where it is not known.
   */
  addressOf(request: Request, info: Info | undefined): string;
  /** Lets the answer to a request take any time, where the platform ends a slow one. */
  hold?(request: Request, info: Info | undefined): void;
  /**
   * Makes a WebSocket of a request. It is not open yet, and must not close by itself when it is idle.
   *
   * @param options the subprotocol to answer with, if any
   * @returns the WebSocket, and the response to return from the handler
   * @throws {TypeError} when the request is no valid upgrade
   */
  upgrade(
    request: Request,
    options: UpgradeOptions,
    info: Info | undefined,
  ): Upgraded;
  /**
   * Calls back once another isolate of this platform serves the same program, where there may be several:
   * without a cluster each would have offices of its own. Called with the first request.
   *
   * @returns stops watching
   */
  readonly watchOthers?: (found: () => void) => () => void;
}

/** How a WebSocket is made. */
export interface UpgradeOptions {
  /** The subprotocol to answer with. */
  readonly protocol?: string;
}

/** What a platform makes of an upgrade request. */
export interface Upgraded {
  /** The WebSocket. */
  readonly socket: PlatformSocket;
  /** What the handler returns. */
  readonly response: Response;
}
