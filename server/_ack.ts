import type { Socket } from "socket.io";

/** What becomes of a request to a client. */
export interface AckListener {
  /** It answered; `first` is the first argument of its ack, the others are dropped (spec §7). */
  answered(first: unknown): void;
  /** It did not answer in time. */
  timedOut(): void;
}

/**
 * Sends a request to a client; exactly one method of the listener is called, unless it is forgotten first.
 *
 * Socket.IO's own `timeout().emit` keeps its timer after a disconnect, and an ack that is never
 * given stays in the socket's table for as long as the socket lives: here both go away at once.
 *
 * @param milliseconds how long to wait for the answer
 * @returns forgets the request: no method of the listener is called any more
 */
export function emitWithAck(
  socket: Socket,
  event: string,
  payload: unknown,
  milliseconds: number,
  listener: AckListener,
): () => void {
  // The id that emit() is about to take: it is the only key of the socket's table of acks.
  const id = socket.nsp._ids;
  const timer = setTimeout(() => {
    forget();
    listener.timedOut();
  }, milliseconds);
  const forget = () => {
    clearTimeout(timer);
    // Private, but there is no other way to take an unanswered ack out of the table.
    socket["acks"].delete(id);
  };
  try {
    socket.emit(event, payload, (first: unknown) => {
      clearTimeout(timer);
      listener.answered(first);
    });
  } catch (error) {
    forget();
    throw error;
  }
  return forget;
}
