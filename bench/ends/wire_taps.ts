import { Socket } from "node:net";
import { Manager } from "socket.io-client";
import { type Marks, tap } from "./taps.ts";

/** The packet type of an ack in Socket.IO's protocol. */
const ACK = 3;

/**
 * Records the way of calls through this process's Socket.IO client: `frame` when one arrives,
 * `written` when one is passed to the operating system, which may run its reader first.
 *
 * @param acked called when an ack has been sent
 */
export function tapWire(marks: Marks, acked: () => void = () => {}): void {
  let sending = false;
  const onWrite = () => {
    if (sending) marks.mark("written");
  };
  tap(Socket.prototype, "_write", { enter: onWrite });
  tap(Socket.prototype, "_writev", { enter: onWrite });
  tap(Manager.prototype, "ondata", { enter: () => marks.mark("frame") });
  tap(Manager.prototype, "_packet", {
    enter: ([packet]) => {
      sending = true;
      if (isAck(packet)) marks.mark("ack");
    },
    leave: ([packet]) => {
      sending = false;
      marks.mark("written"); // one that waited for another
      if (isAck(packet)) acked();
    },
  });
}

const isAck = (packet: unknown): boolean =>
  typeof packet === "object" && packet !== null && "type" in packet &&
  packet.type === ACK;
