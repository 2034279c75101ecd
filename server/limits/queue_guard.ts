import type { Socket as Connection } from "engine.io";
import { type CutOff, limitQueue } from "../wire/mod.ts";

/**
 * Cuts off a client for which more than `maxBytes` wait to be sent (spec §10); one message may be
 * larger.
 *
 * Engine.IO queues without bound for a reader that does not read over polling, where text counts
 * by its length. What it gives to a WebSocket waits there.
 *
 * @param maxBytes `Infinity` for any number
 * @param cut told just before the connection is closed
 */
export function guardQueue(
  connection: Connection,
  maxBytes: number,
  cut: CutOff,
): void {
  const limit = (transport: Connection["transport"]): boolean =>
    limitQueue(transport, maxBytes, cut);
  if (limit(connection.transport)) return; // what began as a WebSocket stays one
  connection.on("upgrade", limit);
  if (maxBytes === Infinity) return;
  // Bytes since the transport took its last batch, and those of that batch.
  let queued = 0;
  let handed = 0;
  let over = false;
  connection.on("packetCreate", ({ data }: { data?: unknown }) => {
    const size = sizeOf(data);
    const waiting = queued + (connection.transport.writable ? 0 : handed);
    queued += size;
    if (over || waiting === 0 || waiting + size <= maxBytes) return;
    over = true;
    // Later: whoever is just sending does not expect the connection to close under it.
    queueMicrotask(() => {
      cut("queuedBytes");
      connection.close(true);
    });
  });
  connection.on("flush", () => {
    handed = queued;
    queued = 0;
  });
}

const sizeOf = (data: unknown): number =>
  typeof data === "string"
    ? data.length
    : ArrayBuffer.isView(data)
    ? data.byteLength
    : 0;
