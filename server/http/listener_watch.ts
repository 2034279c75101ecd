import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { connect, type Socket } from "node:net";
import { failure, log } from "../shared/log.ts";

/** How often a listener is checked. */
const CHECK_INTERVAL_MS = 2000;

/** Further checks that may miss the probe before a restart; a stalled process may cause one. */
const MAX_MISSED_CHECKS = 1;

/** Unsuccessful restarts in a row before the listener counts as lost. */
const MAX_RESTARTS = 3;

/** A listener to watch. */
export interface WatchedListener {
  /** The listening server. */
  readonly server: HttpServer | HttpsServer;
  /** The host that it listens on. */
  readonly hostname: string;
  /** The port that it listens on. */
  readonly port: number;
  /** Called once, when it accepts no connections and cannot be restarted. */
  lost(error: Error): void;
  /** Milliseconds between two checks; default 2000. */
  readonly intervalMs?: number;
}

/**
 * Restarts a listener that stops accepting connections; open connections stay.
 *
 * A process without free descriptors cannot accept. Node resumes when some are free again, Deno never
 * does, and neither reports it. So after a while without connections the watch opens one itself, and
 * restarts the listener if that connection is not accepted.
 *
 * @returns a function that stops the watch
 */
export function watchListener(
  { server, hostname, port, lost, intervalMs = CHECK_INTERVAL_MS }:
    WatchedListener,
): () => void {
  let isAlive = true;
  let missed = 0;
  let restarts = 0;
  let probe: Socket | undefined;
  let reason: unknown;
  const accepted = () => {
    isAlive = true;
    if (restarts > 0) {
      log.warn("The listener accepts connections again");
      timer.unref();
    }
    missed = restarts = 0;
  };
  const failed = (error: Error) => {
    reason = error;
    log.error("The listener failed", failure(error));
  };
  const openProbe = () => {
    const socket = connect({ port, host: hostname });
    probe = socket;
    const done = () => {
      socket.destroy();
      if (probe === socket) probe = undefined;
    };
    socket.on("connect", done);
    // The probe may lack a descriptor, which says nothing about the listener.
    socket.on("error", () => {
      missed = 0;
      done();
    });
    missed = 1;
  };
  const check = () => {
    if (isAlive) {
      isAlive = false;
      return;
    }
    // Where nobody listens, since a restart has failed, a probe says nothing.
    if (missed === 0 && server.listening) return openProbe();
    if (missed++ <= MAX_MISSED_CHECKS) return;
    probe?.destroy();
    missed = 0;
    if (restarts++ < MAX_RESTARTS) {
      log.error("The listener accepts no connections: restarting it");
      timer.ref(); // nothing else may keep the process until it listens again
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
  const timer = setInterval(check, intervalMs);
  timer.unref();
  const stop = () => {
    clearInterval(timer);
    probe?.destroy();
    server.off("connection", accepted);
    server.off("error", failed);
  };
  return stop;
}
