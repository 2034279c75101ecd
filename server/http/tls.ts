import { createPrivateKey, X509Certificate } from "node:crypto";
import type { ServerOptions } from "node:https";

/** The certificate of a server, and optionally the authorities of its clients; all as PEM (spec §10). */
export interface TlsOptions {
  /** The server's certificate chain without the root. */
  readonly cert: string;
  /** The private key of the first certificate. */
  readonly key: string;
  /** Certificate authorities of clients: requires a client certificate issued by one of them (mTLS). */
  readonly clientCa?: string;
}

/**
 * Checks certificates and converts them to options of `node:https`.
 *
 * The check is needed since Deno accepts any text as a replacement, and then fails every handshake.
 *
 * @throws {TypeError} naming the invalid part, without its content
 */
export function toHttpsOptions(
  { cert, key, clientCa }: TlsOptions,
): ServerOptions {
  const certificate = readPem("certificate", () => new X509Certificate(cert));
  const privateKey = readPem("private key", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new TypeError("Cannot use TLS: the key is not the certificate's");
  }
  if (clientCa === undefined) return { cert, key };
  readPem("certificate of the client CA", () => new X509Certificate(clientCa));
  return {
    cert,
    key,
    ca: clientCa,
    requestCert: true,
    rejectUnauthorized: true,
  };
}

function readPem<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw new TypeError(`Cannot use TLS: the ${what} is not valid PEM`);
  }
}
