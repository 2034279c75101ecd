import type { Socket } from "socket.io-client";
import { Deadlines } from "../shared/deadlines.ts";
import { type Dial, dial, explainRefusal, watchEngine } from "./dial.ts";
import { isFinal, unreachable } from "./failures.ts";
import { receive } from "./receive.ts";
import {
  CLOSE_TIMEOUT_MS,
  type Refusal,
  type Wire,
  type WireListeners,
} from "./wire.ts";

/** The way to a Server over Socket.IO, which connects again by itself when no Server was reached. */
export class SocketWire implements Wire {
  readonly #dial: Dial;
  readonly #socket: Socket;
  readonly #watch: () => void;
  readonly #deadlines = new Deadlines();

  /** Creates a wire that is not connected. */
  constructor(target: Dial, listeners: WireListeners) {
    this.#dial = target;
    const socket = this.#socket = dial(target);
    socket.on("connect", () => listeners.connected());
    socket.on("disconnect", (reason) => {
      // Queued packets would be sent before this client is back in its office.
      socket.sendBuffer = [];
      listeners.disconnected(reason, socket.active);
      this.#deadlines.end();
    });
    socket.on("connect_error", (error) => listeners.refused(error));
    socket.onAny((event, ...args) => {
      const { id } = socket;
      const isCurrent = () => socket.connected && socket.id === id;
      receive(String(event), args, listeners.receiver, isCurrent);
    });
    this.#watch = watchEngine(socket, {
      found: (bytes) => listeners.limited(bytes),
      mismatched: (error) => listeners.refused(error),
    });
  }

  get isOpen(): boolean {
    return this.#socket.connected;
  }

  get isRetrying(): boolean {
    return this.#socket.active;
  }

  connect(): void {
    this.#socket.connect();
    this.#watch();
  }

  send(event: string, payload: object): void {
    this.#socket.emit(event, payload);
  }

  ask(
    event: string,
    payload: object,
    timeoutMs: number,
    settled: (args: unknown[] | undefined) => void,
  ): void {
    const lost = () => settled(undefined);
    this.#deadlines.add(lost, timeoutMs);
    this.#socket.emit(event, payload, (...args: unknown[]) => {
      if (this.#deadlines.remove(lost)) settled(args);
    });
  }

  async explain(error: unknown): Promise<Refusal> {
    const { known, cause } = await explainRefusal(this.#dial, error);
    const { options, route } = this.#dial;
    return {
      known,
      isFinal: isFinal(known),
      failure: async () => known ?? await unreachable(options, cause, route()),
    };
  }

  stopRetrying(): void {
    this.#socket.io.reconnection(false);
  }

  pause(): void {
    this.#socket.disconnect();
  }

  close(): void {
    this.#socket.removeAllListeners().disconnect();
    this.#deadlines.end();
  }

  whenClosed(): Promise<void> {
    const { engine } = this.#socket.io;
    return new Promise((resolve) => {
      if (!engine || engine.readyState === "closed") return resolve();
      const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      engine.once("close", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
