import type { IncomingMessage } from "node:http";
import type { Server, Socket } from "socket.io";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { toConnectError } from "../shared/error_payload.ts";
import { opensSession, splitTarget } from "../shared/request_target.ts";
import { clientAddress } from "../limits/client_address.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { Metrics } from "../observe/metrics.ts";
import { namespaceCount } from "../wire/mod.ts";

/** Who is told of refusals. */
export interface RefusalParts {
  /** Writes them to the audit log. */
  readonly limiter: Limiter;
  /** Counts them. */
  readonly metrics: Metrics | undefined;
  /** How many proxies of the operator's own stand in front of the server. */
  readonly proxies: number;
}

/** What Engine.IO says of a request that it refuses. */
interface EngineRefusal {
  readonly req: IncomingMessage;
  readonly code: number;
  readonly message: string;
}

/** A namespace that a client made up exists while it is refused; at so many Socket.IO refuses by itself. */
const MAX_NAMESPACES = 100;

/**
 * Refuses sockets on any namespace but those that `io` has (spec §2), and takes note of requests
 * for a session that Engine.IO refuses: an older version of it, an unknown transport (spec §10).
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
    limiter.refusedHandshake({ code, reason, address });
    next(toConnectError(new ProtocolError(code, reason)));
  };
  io.of("/").use(refuse);
  io.of((_name, _auth, next) => next(null, namespaceCount(io) < MAX_NAMESPACES))
    .use(refuse);
  io.engine.on("connection_error", (refusal: EngineRefusal) => {
    const { req: { url = "", socket, headers }, code, message } = refusal;
    // Requests for a session that ended are the common case.
    if (!opensSession(splitTarget(url).query)) return;
    const address = clientAddress(
      socket.remoteAddress ?? "",
      headers["x-forwarded-for"],
      proxies,
    );
    metrics?.handshakeRefused("http", code);
    limiter.refusedHandshake({ code, reason: message, address });
  });
}
