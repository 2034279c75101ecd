import type { Socket as Connection } from "engine.io";
import { type CutOff, limitQueue } from "../wire/mod.ts";

/**
 * Disconnects a client for which more than `maxBytes` are queued (spec §10); a single message may be
 * larger.
 *
 * Engine.IO queues without bound for a polling client that does not read, where text is counted by
 * its length. A WebSocket has a queue of its own.
 *
 * @param maxBytes `Infinity` for no limit
 * @param cut called just before the connection is closed
 */
export function guardQueue(
  connection: Connection,
  maxBytes: number,
  cut: CutOff,
): void {
  const limit = (transport: Connection["transport"]): boolean =>
    limitQueue(transport, maxBytes, cut);
  if (limit(connection.transport)) return; // a WebSocket never changes its transport
  connection.on("upgrade", limit);
  if (maxBytes === Infinity) return;
  // Bytes queued since the transport took its last batch, and bytes of that batch.
  let queued = 0;
  let handed = 0;
  let over = false;
  connection.on("packetCreate", ({ data }: { data?: unknown }) => {
    const size = sizeOf(data);
    const waiting = queued + (connection.transport.writable ? 0 : handed);
    queued += size;
    if (over || waiting === 0 || waiting + size <= maxBytes) return;
    over = true;
    // Deferred: the code that sends this packet does not expect the connection to close meanwhile.
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
