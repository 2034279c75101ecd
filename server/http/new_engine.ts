import { Server as Engine } from "engine.io";
import { earlyBytes } from "../limits/early_budget.ts";
import type { Limits } from "../limits/limits.ts";
import type { SmcpServerOptions } from "../options.ts";
import { wsEngineOption } from "../wire/frame_engine.ts";

/** What of the server's options is about its connections. */
export type EngineOptions =
  & Required<
    Pick<
      SmcpServerOptions,
      | "maxMessageBytes"
      | "maxConnectBytes"
      | "wsEngine"
      | "minUploadRate"
      | "heartbeat"
    >
  >
  & Pick<Limits, "unfinishedBytes">;

/** Makes the Engine.IO server. */
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
