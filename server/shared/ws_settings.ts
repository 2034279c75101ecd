/**
 * Default minimum upload rate in bytes per second (64 kbit/s): a message of 8 MiB then occupies
 * memory for at most 17 minutes.
 */
export const MIN_UPLOAD_RATE = 8192;

/** The WebSocket implementations. */
export const WS_ENGINES: readonly WsEngine[] = ["fast", "stock"];

/** The WebSocket implementation: this package's own (`fast`), or the package `ws` (`stock`). */
export type WsEngine = "fast" | "stock";

/** Default of `SmcpServerOptions.maxConnectBytes`. */
export const MAX_CONNECT_BYTES = 16 * 1024;
