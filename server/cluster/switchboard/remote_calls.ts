import {
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
} from "../../../protocol/mod.ts";
import type { RemoteCallEvents } from "../../offices/exchange.ts";

interface Open {
  readonly node: string;
  readonly computer: string;
  readonly events: RemoteCallEvents;
}

/** The calls to Computers of other nodes that have no answer yet. */
export class RemoteCalls {
  readonly #open = new Map<number, Open>();
  #id = 0;

  /** The number of calls. */
  get size(): number {
    return this.#open.size;
  }

  /** Notes a call; returns its id. */
  add(node: string, computer: string, events: RemoteCallEvents): number {
    this.#open.set(++this.#id, { node, computer, events });
    return this.#id;
  }

  /** Returns who hears of a call of a node, if it is open. */
  find(id: number, node: string): RemoteCallEvents | undefined {
    const call = this.#open.get(id);
    return call?.node === node ? call.events : undefined;
  }

  /** Removes a call; returns who hears of its end, if it was open. */
  take(id: number, node: string): RemoteCallEvents | undefined {
    const events = this.find(id, node);
    this.#open.delete(id);
    return events;
  }

  /**
   * Ends the calls to a node.
   *
   * @param node `undefined` for all nodes
   * @param error returns what their Agents are told
   */
  end(
    node: string | undefined,
    error: (computer: string) => ErrorPayload,
  ): void {
    for (const [id, call] of [...this.#open]) {
      if (node !== undefined && call.node !== node) continue;
      this.#open.delete(id);
      call.events.failed(error(call.computer));
    }
  }
}

/** The error when messages between two nodes were lost, or cannot be sent. */
export const nodeUnreachable = (computer: string): ErrorPayload =>
  failed(
    `Computer ${JSON.stringify(computer)} cannot be reached now: try again`,
    computer,
    "node unreachable",
  );

/** The error when what connects the nodes is away. */
export const clusterAway = (computer: string): ErrorPayload =>
  failed(
    `Computer ${
      JSON.stringify(computer)
    } cannot be reached: its server cannot be asked now, try again`,
    computer,
    "registry unavailable",
  );

/** The error when too much waits for the node of a Computer. */
export const nodeBusy = (computer: string): ErrorPayload =>
  new ProtocolError(
    ErrorCode.TOO_MANY_REQUESTS,
    `Too much waits for the server of the Computer ${
      JSON.stringify(computer)
    }: try again later`,
    { fields: { computer, reason: "node busy" } },
  ).toPayload();

const failed = (
  message: string,
  computer: string,
  reason: string,
): ErrorPayload =>
  new ProtocolError(ErrorCode.INTERNAL_ERROR, message, {
    fields: { computer, reason },
  }).toPayload();
