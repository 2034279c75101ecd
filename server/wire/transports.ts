import type { Socket as Connection } from "engine.io";
import { TapSocket } from "./websocket/tap_socket.ts";
import { webSocketOf } from "./stock/private_fields.ts";
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

const isPausable = (
  socket: unknown,
): socket is { pause(): void; resume(): void } =>
  typeof socket === "object" && socket !== null && "pause" in socket &&
  "resume" in socket;
