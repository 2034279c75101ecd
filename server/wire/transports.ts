import type { Socket as Connection } from "engine.io";
import { FrameSocket } from "./websocket/frame_socket.ts";
import { webSocketOf } from "./stock/private_fields.ts";
import type { CutOff } from "./websocket/send_queue.ts";

/**
 * Disconnects the client of a WebSocket when more than `maxBytes` are queued.
 *
 * @param cutOff called once, just before the disconnect
 * @returns whether it is a WebSocket of the fast engine; other transports have their queue in Engine.IO
 */
export function limitQueue(
  transport: Connection["transport"],
  maxBytes: number,
  cutOff: CutOff,
): boolean {
  const socket = webSocketOf(transport);
  if (!(socket instanceof FrameSocket)) return false;
  socket.limitQueue(maxBytes, cutOff);
  return true;
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
