import { Server as Engine } from "engine.io";
import { earlyBytes } from "../limits/early_budget.ts";
import type { Limits } from "../limits/limits.ts";
import type { WsEngine } from "../shared/ws_settings.ts";
import { wsEngineOption, type WsOption } from "../wire/mod.ts";

/** Pings of the server; both values are sent to clients, which detect a lost server with them. */
export interface Heartbeat {
  /** Milliseconds between two pings. */
  readonly intervalMs: number;
  /** Milliseconds that a client has to answer one. */
  readonly timeoutMs: number;
}

/** Options for {@linkcode wsOption}. */
export interface WsOptions extends Pick<Limits, "unfinishedBytes"> {
  /** Maximum size of a packet that requests a session. */
  readonly maxConnectBytes: number;
  /** The WebSocket implementation. */
  readonly wsEngine: WsEngine;
  /** Minimum bytes per second at which a started message must arrive. */
  readonly minUploadRate: number;
}

/** Selects a WebSocket implementation. */
export const wsOption = (
  { wsEngine, minUploadRate, unfinishedBytes, maxConnectBytes }: WsOptions,
): WsOption =>
  wsEngineOption(
    wsEngine,
    { bytesPerSecond: minUploadRate, bytes: unfinishedBytes },
    earlyBytes(maxConnectBytes),
  );

/** Options for {@linkcode newEngine}. */
export interface EngineOptions {
  /** Maximum size of a client's message. */
  readonly maxMessageBytes: number;
  /** The WebSocket implementation. */
  readonly ws: WsOption;
  /** Pings of the server. */
  readonly heartbeat: Heartbeat;
  /** What the ids of sessions begin with, so that they name their node. */
  readonly sessionPrefix?: string | undefined;
}

/** Creates the Engine.IO server. */
export function newEngine(
  { maxMessageBytes, ws, heartbeat, sessionPrefix }: EngineOptions,
): Engine {
  const engine = new Engine({
    maxHttpBufferSize: maxMessageBytes,
    perMessageDeflate: false,
    httpCompression: false,
    transports: ["polling", "websocket"],
    ...ws,
    pingInterval: heartbeat.intervalMs,
    pingTimeout: heartbeat.timeoutMs,
  });
  if (sessionPrefix !== undefined) {
    const random = engine.generateId.bind(engine);
    engine.generateId = (request) => sessionPrefix + random(request);
  }
  return engine;
}
