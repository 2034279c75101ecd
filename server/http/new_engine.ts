import { Server as Engine } from "engine.io";
import { earlyBytes } from "../limits/early_budget.ts";
import type { Limits } from "../limits/limits.ts";
import { type WsEngine, wsEngineOption } from "../wire/mod.ts";

/** Pings of the server; both are announced to clients, which notice a lost server by them. */
export interface Heartbeat {
  /** Seconds between two pings. */
  readonly interval: number;
  /** Seconds that a client has to answer one. */
  readonly timeout: number;
}

/** Options for {@linkcode newEngine}. */
export interface EngineOptions extends Pick<Limits, "unfinishedBytes"> {
  /** The largest message of a client, in bytes. */
  readonly maxMessageBytes: number;
  /** The largest packet that asks for a session, in bytes. */
  readonly maxConnectBytes: number;
  /** What carries WebSockets. */
  readonly wsEngine: WsEngine;
  /** Bytes per second at which a message that has begun must arrive. */
  readonly minUploadRate: number;
  /** Pings of the server. */
  readonly heartbeat: Heartbeat;
}

/** Creates the Engine.IO server. */
export const newEngine = (
  { maxMessageBytes, maxConnectBytes, heartbeat, ...options }: EngineOptions,
): Engine =>
  new Engine({
    maxHttpBufferSize: maxMessageBytes,
    perMessageDeflate: false,
    httpCompression: false,
    transports: ["polling", "websocket"],
    ...wsEngineOption(options.wsEngine, {
      bytesPerSecond: options.minUploadRate,
      bytes: options.unfinishedBytes,
    }, earlyBytes(maxConnectBytes)),
    pingInterval: heartbeat.interval * 1000,
    pingTimeout: heartbeat.timeout * 1000,
  });
