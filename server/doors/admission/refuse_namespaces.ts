import type { IncomingMessage } from "node:http";
import type { Server, Socket } from "socket.io";
import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";
import { toConnectError } from "../../shared/error_payload.ts";
import { opensSession, splitTarget } from "../../shared/request_target.ts";
import { clientAddress } from "../../limits/client_address.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { namespaceCount } from "../../wire/mod.ts";

/** The parts of a server that record refusals. */
export interface RefusalParts {
  /** Writes refusals to the audit log. */
  readonly limiter: Limiter;
  /** Counts refusals. */
  readonly metrics: Metrics | undefined;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
}

/** A request that Engine.IO refused. */
interface EngineRefusal {
  readonly req: IncomingMessage;
  readonly code: number;
  readonly message: string;
}

/** Maximum number of unknown namespaces, which exist while they are refused; beyond it Socket.IO refuses them itself. */
const MAX_NAMESPACES = 100;

/**
 * Refuses sockets on namespaces that `io` does not have (spec §2), and records session requests that
 * Engine.IO refuses: another version of it, an unknown transport (spec §10).
 */
export function rejectUnknownNamespaces(
  io: Server,
  { limiter, metrics, proxies }: RefusalParts,
): void {
  const refuse = (
    { handshake: { address: peer, headers } }: Socket,
    next: (error: Error) => void,
  ) => {
    const code = ErrorCode.BAD_REQUEST;
    const reason = "Invalid namespace";
    const address = clientAddress(peer, headers["x-forwarded-for"], proxies);
    metrics?.handshakeRefused("namespace", code);
    limiter.recordRefusedHandshake({ code, reason, address });
    next(toConnectError(new ProtocolError(code, reason)));
  };
  io.of("/").use(refuse);
  io.of((_name, _auth, next) => next(null, namespaceCount(io) < MAX_NAMESPACES))
    .use(refuse);
  io.engine.on("connection_error", (refusal: EngineRefusal) => {
    const { req: { url = "", socket, headers }, code, message } = refusal;
    // Requests of ended sessions are common, and not worth recording.
    if (!opensSession(splitTarget(url).query)) return;
    const address = clientAddress(
      socket.remoteAddress ?? "",
      headers["x-forwarded-for"],
      proxies,
    );
    metrics?.handshakeRefused("http", code);
    limiter.recordRefusedHandshake({ code, reason: message, address });
  });
}
