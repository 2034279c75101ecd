import { createPrivateKey, X509Certificate } from "node:crypto";
import type { ServerOptions } from "node:https";

/** Certificates of a server, and optionally of its clients' authorities (spec §10); all as PEM. */
export interface TlsOptions {
  /** The server's certificate chain without the root. */
  readonly cert: string;
  /** The private key of the first certificate. */
  readonly key: string;
  /** Certificate authorities of clients: requires a client certificate that one of them issued (mTLS). */
  readonly clientCa?: string;
}

/**
 * Checks certificates and turns them into options of `node:https`.
 *
 * Deno takes anything for a certificate when it is replaced, and fails at each handshake from
 * then on: what is checked here cannot do that.
 *
 * @throws {TypeError} naming what cannot be used, without any of it
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
