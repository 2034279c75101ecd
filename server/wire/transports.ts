import type { Socket as Connection } from "engine.io";
import { TapSocket } from "./websocket/tap_socket.ts";
import { Socket } from "node:net";
import { carrierOf, webSocketOf } from "./stock/private_fields.ts";
import type { CutOff } from "./websocket/send_queue.ts";

/**
 * Disconnects the client of a WebSocket when more than `maxBytes` are queued.
 *
 * @param cutOff called once, just before the disconnect
 * @returns whether it is a WebSocket with a queue of its own; other transports have their queue in Engine.IO
 */
export function limitQueue(
  transport: Connection["transport"],
  maxBytes: number,
  cutOff: CutOff,
): boolean {
  const socket = webSocketOf(transport);
  if (!(socket instanceof TapSocket)) return false;
  socket.limitQueue(maxBytes, cutOff);
  return true;
}

/**
 * Calls back when nothing of a closed transport is left on this side: at once, unless it is a WebSocket
 * that the platform does not let the server cut off.
 */
export function whenGone(
  transport: Connection["transport"],
  gone: () => void,
): void {
  const socket = webSocketOf(transport);
  if (socket instanceof TapSocket) socket.whenGone(gone);
  else gone();
}

/**
 * Pauses or resumes reading a connection.
 *
 * Works for WebSockets of either engine; over polling, each POST is limited anyway.
 */
export function holdReading({ transport }: Connection, held: boolean): void {
  const socket = webSocketOf(transport);
  if (!isPausable(socket)) return;
  if (held) socket.pause();
  else socket.resume();
}

/** What the connection of a client has carried. */
export interface Carried {
  /** Bytes from the client. */
  readonly received: number;
  /** Bytes to the client. */
  readonly sent: number;
  /** Bytes that wait for the client to read. */
  readonly queued: number;
}

/**
 * Returns what the connection of a WebSocket has carried; `undefined` over polling, whose connections
 * come and go. The runtime counts it at no other cost.
 */
export function carriedBy({ transport }: Connection): Carried | undefined {
  const carrier = carrierOf(webSocketOf(transport));
  return carrier instanceof Socket
    ? {
      received: carrier.bytesRead,
      sent: carrier.bytesWritten,
      queued: carrier.writableLength,
    }
    : undefined;
}

const isPausable = (
  socket: unknown,
): socket is { pause(): void; resume(): void } =>
  typeof socket === "object" && socket !== null && "pause" in socket &&
  "resume" in socket;
