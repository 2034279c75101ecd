import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { TlsFailure } from "../limits/limiter.ts";

/** The known facts about a failed TLS handshake. */
export interface HandshakeError {
  /** The error code of OpenSSL, or of the socket. */
  readonly code: string;
  /** Why the client's certificate was not accepted, if it was not. */
  readonly certificate?: string;
}

/**
 * Describes why a TLS handshake failed, and what to change on which side.
 *
 * A client that does not trust the server often just closes the connection.
 */
export function describeTlsFailure(
  { code, certificate }: HandshakeError,
): string {
  if (certificate === "CERT_HAS_EXPIRED") {
    return "the client's certificate has expired: have it renewed";
  }
  if (certificate !== undefined) {
    return `the client's certificate is not accepted (${certificate}): it must be of an authority in --tls-client-ca, and be valid today`;
  }
  if (code === "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE") {
    return "the client shows no certificate, and --tls-client-ca asks for one: give it --tls-cert and --tls-key";
  }
  if (/ALERT_UNKNOWN_CA/.test(code)) {
    return `the client does not know the authority of this server's certificate: ${TRUST_HINT}`;
  }
  if (/ALERT_.*CERTIFICATE/.test(code)) {
    return `the client does not accept this server's certificate (${code}): look at its host names and its dates; or ${TRUST_HINT}`;
  }
  if (/HTTP_REQUEST|WRONG_VERSION_NUMBER/.test(code)) {
    return "the client does not speak TLS: its URL must begin with https:";
  }
  if (/UNSUPPORTED_PROTOCOL|UNEXPECTED_MESSAGE|NO_SHARED/.test(code)) {
    return `client and server have no version or cipher of TLS in common (${code}): the client may be old`;
  }
  if (code === "ECONNRESET") {
    return `the client closed the connection during the handshake, possibly because it does not trust this server's certificate: ${TRUST_HINT}`;
  }
  return `the handshake failed (${code})`;
}

const TRUST_HINT =
  "give it the authority (--tls-ca), or this server the whole chain (--tls-cert)";

/** Reports the failed TLS handshakes of a server, if it has TLS. */
export function watchHandshakes(
  server: HttpServer | HttpsServer,
  report: (failure: TlsFailure) => void,
): void {
  if (!("setSecureContext" in server)) return;
  // Node no longer has the address when the connection is closed.
  const addresses = new WeakMap<object, string>();
  server.on("connection", (raw: Socket) => {
    addresses.set(raw, raw.remoteAddress ?? "unknown");
  });
  server.on("tlsClientError", (error, socket) => {
    const raw: unknown = Reflect.get(socket, "_parent");
    if (!(raw instanceof Object)) return;
    // A port check, as load balancers make them: no handshake was attempted.
    if (Reflect.get(raw, "bytesRead") === 0) return;
    const certificate: unknown = socket.authorizationError;
    report({
      reason: describeTlsFailure({
        code: "code" in error ? String(error.code) : error.name,
        ...(certificate != null && { certificate: codeOf(certificate) }),
      }),
      address: addresses.get(raw) ?? "unknown",
    });
  });
}

/** Returns an error code, which some runtimes wrap in an error. */
const codeOf = (value: unknown): string =>
  value instanceof Error && "code" in value
    ? String(value.code)
    : String(value);
