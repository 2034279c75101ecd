import type { Connection } from "../../client/connection.ts";
import {
  ENTER_OFFICE_NOTIFICATION,
  ProtocolError,
} from "../../protocol/mod.ts";
import { isComputerNotFound } from "./computer_not_found.ts";

/** After a reconnect of the Agent, its Computers may still be reconnecting for this long. */
export const RETURN_WINDOW_MS = 60_000;

/**
 * Waits for Computers that have not reconnected yet: after a restart of the Server all clients
 * reconnect at different times, and the Agent may be the first (spec §9).
 */
export class Arrivals {
  readonly #waiting = new Set<(computer: string | undefined) => void>();
  #backAt = -Infinity;

  constructor(connection: Connection) {
    connection.on("notification", ({ event, payload }) => {
      if (event === ENTER_OFFICE_NOTIFICATION) this.#wake(payload.computer);
    });
    connection.on("joined", ({ rejoined }) => {
      if (rejoined) this.#backAt = performance.now();
      this.#wake(undefined);
    });
    connection.on("disconnected", ({ reconnecting }) => {
      if (!reconnecting) this.#wake(undefined);
    });
  }

  /** Checks whether a request failed only because its Computer has not reconnected yet. */
  isExpected(error: unknown): boolean {
    return isComputerNotFound(error) && error instanceof ProtocolError &&
      !("mcp_server" in error.fields) && !("reason" in error.fields) &&
      performance.now() - this.#backAt < RETURN_WINDOW_MS;
  }

  /**
   * Watches for a Computer; must be called before the request is sent, so that its arrival is not
   * missed.
   *
   * @returns `entered` resolves when another attempt makes sense: the Computer entered, or the Agent
   * rejoined or was closed; `forget` stops watching
   */
  expect(computer: string): { entered: Promise<void>; forget: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (name: string | undefined) => {
      if (name === undefined || name === computer) resolve();
    };
    this.#waiting.add(wake);
    return { entered: promise, forget: () => this.#waiting.delete(wake) };
  }

  #wake(computer: string | undefined): void {
    for (const wake of [...this.#waiting]) wake(computer);
  }
}
