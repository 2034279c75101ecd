import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { connect, type Socket } from "node:net";
import { failure, log } from "../shared/log.ts";

/** Milliseconds between two looks at a listener. */
const CHECK_INTERVAL_MS = 2000;

/** So many looks after the first may see nothing of a connection of our own; a stalled process may cause one. */
const MAX_MISSED_CHECKS = 1;

/** How often in a row it is revived in vain before it is given up. */
const MAX_RESTARTS = 3;

/** A listener that is watched. */
export interface WatchedListener {
  /** It listens. */
  readonly server: HttpServer | HttpsServer;
  /** As it was told. */
  readonly hostname: string;
  /** As it was given. */
  readonly port: number;
  /** Called once, when it accepts nothing any more and cannot be revived. */
  lost(error: Error): void;
  /** Default 2000. */
  readonly intervalMs?: number;
}

/**
 * Sees to it that a listener goes on accepting connections.
 *
 * A process that has no descriptor left cannot accept. Node goes on when it has some again; Deno
 * never does, and neither says so. So when nobody has connected for a while the watch does, and a
 * listener that does not notice is made to listen anew: open connections stay.
 *
 * @returns stops it
 */
export function watchListener(
  { server, hostname, port, lost, intervalMs = CHECK_INTERVAL_MS }:
    WatchedListener,
): () => void {
  let isAlive = true;
  let unseen = 0;
  let revived = 0;
  let probe: Socket | undefined;
  let reason: unknown;
  const accepted = () => {
    isAlive = true;
    if (revived > 0) log.warn("The listener accepts connections again");
    unseen = revived = 0;
  };
  const failed = (error: Error) => {
    reason = error;
    log.error("The listener failed", failure(error));
  };
  const knock = () => {
    const socket = connect({ port, host: hostname });
    probe = socket;
    const done = () => {
      socket.destroy();
      if (probe === socket) probe = undefined;
    };
    socket.on("connect", done);
    // Without a descriptor for this one nothing is known of the listener.
    socket.on("error", () => {
      unseen = 0;
      done();
    });
    unseen = 1;
  };
  const look = () => {
    if (isAlive) {
      isAlive = false;
      return;
    }
    if (unseen === 0) return knock();
    if (unseen++ <= MAX_MISSED_CHECKS) return;
    probe?.destroy();
    unseen = 0;
    if (revived++ < MAX_RESTARTS) {
      log.error("The listener accepts no connections: it is started anew");
      server.close();
      server.listen(port, hostname);
      return;
    }
    stop();
    lost(
      new Error(
        `Cannot accept connections on ${hostname} port ${port} any more`,
        {
          cause: reason,
        },
      ),
    );
  };
  server.on("connection", accepted);
  server.on("error", failed);
  const timer = setInterval(look, intervalMs);
  timer.unref();
  const stop = () => {
    clearInterval(timer);
    probe?.destroy();
    server.off("connection", accepted);
    server.off("error", failed);
  };
  return stop;
}
