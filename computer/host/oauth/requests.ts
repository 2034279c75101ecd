/**
 * Requests to an authorization server: whether it can be reached, and the end of their responses.
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { AuthorizationError } from "./authorized_fetch.ts";

/** The authorization server cannot be reached, or fails itself; it may do better later. */
export class OutOfReachError extends Error {
  /** Always `"OutOfReachError"`. */
  override readonly name = "OutOfReachError";

  /** Creates an error. */
  constructor(options?: ErrorOptions) {
    super("Its authorization server is out of reach", options);
  }
}

/** The requests of one attempt to sign in, or to renew what came of it. */
export class Requests {
  readonly #fetch: FetchLike;
  readonly #signal: AbortSignal;
  /** Those of the current work. */
  #responses: Response[] = [];
  /** Whether the last one reached no server, or one that failed itself. */
  isTrouble = false;

  constructor(fetch: FetchLike, signal: AbortSignal) {
    this.#fetch = fetch;
    this.#signal = signal;
  }

  /** Sends one. */
  readonly fetch: FetchLike = async (url, init) => {
    const signals = init?.signal ? [init.signal, this.#signal] : [this.#signal];
    this.isTrouble = true;
    const response = await this.#fetch(url, {
      ...init,
      signal: AbortSignal.any(signals),
    });
    this.isTrouble = response.status >= 500;
    this.#responses.push(response);
    return response;
  };

  /**
   * Runs work that sends some; cancels the bodies that it leaves unread, as the MCP SDK does where it
   * looks at a second place for metadata.
   *
   * @throws what `work` throws, unless the reason is that no server was reached
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#signal.throwIfAborted();
      if (this.isTrouble && !(error instanceof AuthorizationError)) {
        throw new OutOfReachError({ cause: error });
      }
      throw error;
    } finally {
      const unread = this.#responses.filter(({ bodyUsed }) => !bodyUsed);
      this.#responses = [];
      // One that has failed has an end, too.
      await Promise.allSettled(unread.map(({ body }) => body?.cancel()));
    }
  }
}
