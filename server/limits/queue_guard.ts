import type { Socket as Connection } from "engine.io";

/**
 * Cuts off a client for which more than `maxBytes` wait to be sent (spec §10).
 *
 * Engine.IO queues without bound for a reader that does not read. Text counts by its length.
 *
 * @param cut told once, just before the connection is closed
 */
export function guardQueue(
  connection: Connection,
  maxBytes: number,
  cut: () => void,
): void {
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
      cut();
      cutOff(connection);
    });
  });
  connection.on("flush", () => {
    handed = queued;
    queued = 0;
  });
}

/** Closes at once, without waiting for a peer that may never answer. */
function cutOff(connection: Connection): void {
  const { transport } = connection;
  connection.close(true);
  // `ws` would keep what is queued for another 30 s.
  const socket: unknown = Reflect.get(transport, "socket");
  if (canTerminate(socket)) socket.terminate();
}

const sizeOf = (data: unknown): number =>
  typeof data === "string"
    ? data.length
    : ArrayBuffer.isView(data)
    ? data.byteLength
    : 0;

const canTerminate = (socket: unknown): socket is { terminate(): void } =>
  typeof socket === "object" && socket !== null && "terminate" in socket &&
  typeof socket.terminate === "function";
