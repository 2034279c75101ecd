import { Manager } from "socket.io-client";
import { type Marks, tap } from "./taps.ts";

/** The packet type of an ack in Socket.IO's protocol. */
const ACK = 3;

/**
 * Marks the way of calls through this process's Socket.IO client: `frame` when one comes in,
 * `written` when one has gone out.
 *
 * @param acked called when an ack has gone out
 */
export function tapWire(marks: Marks, acked: () => void = () => {}): void {
  tap(Manager.prototype, "ondata", { enter: () => marks.mark("frame") });
  tap(Manager.prototype, "_packet", {
    enter: ([packet]) => {
      if (isAck(packet)) marks.mark("ack");
    },
    leave: ([packet]) => {
      marks.mark("written");
      if (isAck(packet)) acked();
    },
  });
}

const isAck = (packet: unknown): boolean =>
  typeof packet === "object" && packet !== null && "type" in packet &&
  packet.type === ACK;
