import type { Buffer } from "node:buffer";
import type { IncomingMessage, Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Duplex } from "node:stream";
import { endSocket, toHttpText } from "../shared/end_socket.ts";
import { failure, log } from "../shared/log.ts";
import type { StockEngine } from "../wire/stock/mod.ts";
import { admitUpgrade, type RequestParts } from "./admit_request.ts";
import {
  invalidRequest,
  notFound,
  type Refusal,
  splitTarget,
} from "../shared/http.ts";

/** The parts of a server that take upgrades. */
export interface UpgradeParts extends RequestParts {
  /** Handles those that pass. */
  readonly engine: StockEngine;
}

/**
 * Creates the gate of WebSocket upgrades, with the same checks and answers as polling (spec §2).
 *
 * The listener never throws: that would leave the client waiting forever. It leaves other paths to the
 * server's other listeners, if there are any.
 *
 * @param taken called with each socket that is not left to them
 */
export const upgradeListener = (
  parts: UpgradeParts,
  server: HttpServer | HttpsServer,
  taken: (socket: Duplex) => void,
) =>
(request: IncomingMessage, socket: Duplex, head: Buffer): void => {
  try {
    const { path } = splitTarget(request.url ?? "");
    if (!parts.paths.includes(path)) {
      if (server.listenerCount("upgrade") > 1) return;
      refuseUpgrade(socket, notFound());
    } else {
      const kept = minimalRequest(request);
      const refused = admitUpgrade(kept, socket, parts);
      // Synchronous up to here: an await would lose the first frames.
      if (refused) refuseUpgrade(socket, refused);
      else parts.engine.handleUpgrade(kept, socket, head);
    }
  } catch (error) {
    log.warn("Cannot answer an upgrade request", failure(error));
    refuseUpgrade(socket, invalidRequest());
  }
  taken(socket);
};

/**
 * Copies the fields of a request that Engine.IO uses. It keeps the request as long as the connection,
 * and the other fields would stay in memory with it.
 */
export const minimalRequest = (
  { method, url, headers, socket }: IncomingMessage,
): IncomingMessage =>
  ({ method, url, headers, socket, connection: socket }) as IncomingMessage;

const refuseUpgrade = (socket: Duplex, refused: Refusal): void =>
  endSocket(socket, toHttpText(refused));
