import { createPrivateKey, X509Certificate } from "node:crypto";
import type { RedisTarget } from "./url.ts";

/** Certificates for connections to Redis; all as PEM. */
export interface RedisTls {
  /** The authorities of the servers, instead of those that the system trusts. */
  readonly ca?: string | undefined;
  /** The certificate of this client, where Redis wants one. */
  readonly cert?: string | undefined;
  /** The private key of `cert`. */
  readonly key?: string | undefined;
}

/**
 * Checks the certificates for a target.
 *
 * @returns `undefined` when the target is reached without TLS
 * @throws {TypeError} naming what is wrong, without its content
 */
export function toTlsOptions(
  target: RedisTarget,
  { ca, cert, key }: RedisTls,
): RedisTls | undefined {
  const isGiven = [ca, cert, key].some((part) => part !== undefined);
  if (!target.tls) {
    if (!isGiven) return undefined;
    throw wrong("certificates need a URL with TLS, such as rediss://");
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw wrong("a certificate and its key come together");
  }
  if (ca !== undefined) readPem("CA", () => new X509Certificate(ca));
  if (cert !== undefined && key !== undefined) {
    const certificate = readPem("certificate", () => new X509Certificate(cert));
    const privateKey = readPem("key", () => createPrivateKey(key));
    if (!certificate.checkPrivateKey(privateKey)) {
      throw wrong("the key is not the certificate's");
    }
  }
  return { ...(ca && { ca }), ...(cert && { cert, key }) };
}

function readPem<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw wrong(`the ${what} is not valid PEM`);
  }
}

const wrong = (reason: string): TypeError =>
  new TypeError(`Cannot use TLS with Redis: ${reason}`);
