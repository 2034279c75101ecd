import { hasNodeModules, nodeModule } from "./node_modules.ts";
import * as webWay from "./web_way.ts";

/** Certificates of a client and its trusted authorities; all as PEM (spec §10). */
export interface ClientTlsOptions {
  /** The client's certificate chain without the root; requires `key`. */
  readonly cert?: string;
  /** The private key of the first certificate. */
  readonly key?: string;
  /** Certificate authorities to trust instead of those of this machine. */
  readonly ca?: string;
}

/** The names of {@linkcode ClientTlsOptions} in errors, such as those of flags. */
export type TlsNames = Readonly<Record<keyof ClientTlsOptions, string>>;

const OPTIONS: TlsNames = { cert: "tls.cert", key: "tls.key", ca: "tls.ca" };

/**
 * Checks certificates, for clearer errors than those of the TLS library.
 *
 * @param url the Server's URL
 * @param names the names of the options in errors
 * @throws {TypeError} naming the invalid option, without its content
 */
export function checkTls(
  tls: ClientTlsOptions | undefined,
  url: string,
  names: TlsNames = OPTIONS,
): void {
  if (!hasNodeModules()) return webWay.checkTls(tls);
  const { cert, key, ca } = tls ?? {};
  const [first] = (["cert", "key", "ca"] as const)
    .filter((name) => tls?.[name] !== undefined);
  if (first === undefined) return;
  if (!isTls(url)) {
    throw new TypeError(
      `Cannot use ${names[first]} with ${url}: write https:// for TLS`,
    );
  }
  if ((cert === undefined) !== (key === undefined)) {
    const [given, missing] = cert === undefined
      ? [names.key, names.cert]
      : [names.cert, names.key];
    throw new TypeError(
      `Cannot use ${given} without ${missing}: they belong together`,
    );
  }
  const crypto = nodeModule("node:crypto");
  if (crypto === undefined) return; // an old Node: invalid certificates fail the handshake
  const read = <T>(what: string, make: () => T): T => {
    try {
      return make();
    } catch {
      throw new TypeError(`Cannot use ${what} in PEM form`);
    }
  };
  const { X509Certificate, createPrivateKey } = crypto;
  if (ca !== undefined) {
    read(`${names.ca}: it has no certificate`, () => new X509Certificate(ca));
  }
  if (cert === undefined || key === undefined) return;
  const certificate = read(
    `${names.cert}: it has no certificate`,
    () => new X509Certificate(cert),
  );
  const own = read(
    `${names.key}: it has no private key without a passphrase`,
    () => createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(own)) {
    throw new TypeError(
      `Cannot use ${names.key}: it is not the key of ${names.cert}`,
    );
  }
}

/** Returns whether a URL requires TLS. */
export const isTls = (url: string): boolean => /^(https|wss):/i.test(url);

/** Returns when a certificate expired, if it has. */
export function expiryOf(cert: string | undefined): string | undefined {
  const crypto = nodeModule("node:crypto");
  if (cert === undefined || crypto === undefined) return undefined;
  const { validTo } = new crypto.X509Certificate(cert);
  return pastDate(validTo);
}

/** Returns a date if it is in the past. */
export const pastDate = (date: string | undefined): string | undefined =>
  date !== undefined && Date.parse(date) < Date.now() ? date : undefined;
