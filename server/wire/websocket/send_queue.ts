import type { Buffer } from "node:buffer";

/** Called with the limit for which a peer is disconnected. */
export type CutOff = (limit: "queuedBytes" | "unfinishedBytes") => void;

/** Maximum bytes queued for a peer without a session, which gets little more than pongs. */
const MAX_EARLY_QUEUE_BYTES = 65_536;

/** A connection with a queue, such as a socket. */
interface Outlet<Message> {
  /** Whether something can be sent. */
  readonly writable: boolean;
  /** Bytes that are queued. */
  readonly writableLength: number;
  /** Queues a message; calls back when it was taken, or the connection has failed. */
  write(message: Message, sent?: () => void): unknown;
  /** Ends the connection. */
  destroy(): unknown;
  /** Holds what is written, until as many calls of `uncork` send it together. */
  cork?(): void;
  uncork?(): void;
}

/** The connections whose messages are held until the end of this turn. */
const corked = new Set<Pick<Outlet<Buffer>, "uncork">>();

/** Sends in one write what is written to a connection while one chunk is read: writes cost most. */
function joinWrites(socket: Pick<Outlet<Buffer>, "cork" | "uncork">): void {
  if (socket.cork === undefined || corked.has(socket)) return;
  socket.cork();
  if (corked.size === 0) queueMicrotask(uncork);
  corked.add(socket);
}

function uncork(): void {
  for (const socket of corked) socket.uncork?.();
  corked.clear();
}

/** Limits the bytes queued for a peer that does not read. */
export class SendQueue<Message = Buffer> {
  readonly #socket: Outlet<Message>;
  #maxBytes = MAX_EARLY_QUEUE_BYTES;
  #cutOff: CutOff | undefined = () => {};

  /** @param socket the socket whose queue is limited */
  constructor(socket: Outlet<Message>) {
    this.#socket = socket;
  }

  /**
   * Disconnects the peer when more than `maxBytes` are queued; a single message may be larger. Until
   * this is called, the limit is 64 KiB.
   *
   * @param cutOff called once, just before the disconnect
   */
  limit(maxBytes: number, cutOff: CutOff): void {
    this.#maxBytes = maxBytes;
    this.#cutOff = cutOff;
  }

  /** Reports that the peer is disconnected for another limit. */
  tell(limit: Parameters<CutOff>[0]): void {
    this.#cutOff?.(limit);
  }

  /**
   * Sends a message, or drops it if the connection is closing.
   *
   * @param length its bytes
   * @param sent called when the connection has taken it or has failed; not for a dropped message
   */
  write(message: Message, length: number, sent?: () => void): void {
    const socket = this.#socket;
    if (!socket.writable) return;
    const waiting = socket.writableLength;
    if (waiting > 0 && waiting + length > this.#maxBytes) {
      return this.#overflow();
    }
    joinWrites(socket);
    socket.write(message, sent);
  }

  #overflow(): void {
    const cutOff = this.#cutOff;
    if (cutOff === undefined) return;
    this.#cutOff = undefined;
    // Deferred: the code that sends this message does not expect the connection to close meanwhile.
    queueMicrotask(() => {
      cutOff("queuedBytes");
      this.#socket.destroy();
    });
  }
}
