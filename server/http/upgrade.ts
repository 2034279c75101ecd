import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Server as Engine } from "engine.io";
import { endSocket } from "../shared/end_socket.ts";
import { failure, log } from "../shared/log.ts";
import {
  addressedOf,
  admitRequest,
  type EntranceParts,
  judgeHost,
  provenanceOf,
} from "./admit_request.ts";
import { clientAddress } from "../limits/client_address.ts";
import {
  invalidRequest,
  notFound,
  type Refusal,
  toHttpText,
} from "../shared/refusal.ts";
import { splitTarget } from "../shared/request_target.ts";

type EngineRequest = Parameters<Engine["handleUpgrade"]>[0];

/** What upgrades need of the server around them. */
export interface UpgradeParts extends EntranceParts {
  /** Gets the requests that pass the gate. */
  readonly engine: Engine;
  /** Where Engine.IO answers, with and without a trailing slash. */
  readonly paths: readonly string[];
}

/**
 * A listener of the `upgrade` event.
 *
 * @param alone whether nobody else listens on that server
 * @returns whether the socket is the listener's now
 */
export type UpgradeListener = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  alone: boolean,
) => boolean;

/**
 * The gate of WebSocket upgrades: the check and the bytes are those of polling (spec §2).
 *
 * Never throws: a throw in this listener would leave the client waiting forever.
 */
export const upgradeListener =
  (parts: UpgradeParts): UpgradeListener => (request, socket, head, alone) => {
    try {
      const { path, query } = splitTarget(request.url ?? "");
      if (!parts.paths.includes(path)) {
        if (alone) refuseUpgrade(socket, notFound());
        return alone;
      }
      const address = clientAddress(
        request.socket.remoteAddress ?? "",
        request.headers["x-forwarded-for"],
        parts.proxies,
      );
      const kept = minimalRequest(request);
      const refused = judgeHost(addressedOf(request), address, parts) ??
        admitRequest({
          query,
          ...provenanceOf(request),
          address,
          reserveSlot: () => parts.places.take(kept, socket, address),
        }, parts);
      if (refused) {
        refuseUpgrade(socket, refused);
      } else {
        // Synchronous up to here: one await would lose the first frames.
        parts.engine.handleUpgrade(kept, socket, head);
      }
    } catch (error) {
      log.warn("Cannot answer an upgrade request", failure(error));
      refuseUpgrade(socket, invalidRequest());
    }
    return true;
  };

/**
 * Copies what Engine.IO needs of a request and keeps as long as the connection; the rest, useless
 * after the upgrade, would stay in memory with it.
 */
const minimalRequest = (
  { method, url, headers, socket }: IncomingMessage,
): EngineRequest =>
  ({ method, url, headers, socket, connection: socket }) as EngineRequest;

const refuseUpgrade = (socket: Duplex, refused: Refusal): void =>
  endSocket(socket, toHttpText(refused));
