import { hasNodeModules, nodeModule } from "./node_modules.ts";

/** How a client proves who it is, and whom it trusts, over TLS (spec §10); all as PEM. */
export interface ClientTlsOptions {
  /** The client's certificate, and those between it and the root; goes with `key`. */
  readonly cert?: string;
  /** The private key of the first certificate. */
  readonly key?: string;
  /** Certificate authorities to trust instead of those of this machine. */
  readonly ca?: string;
}

/** What each of {@linkcode ClientTlsOptions} is called where a person gave it. */
export type TlsNames = Readonly<Record<keyof ClientTlsOptions, string>>;

const OPTIONS: TlsNames = { cert: "tls.cert", key: "tls.key", ca: "tls.ca" };

/**
 * Checks certificates before a connection fails for them in words of its library.
 *
 * @param url of the Server
 * @param names what the options are called, for errors
 * @throws {TypeError} that names what cannot be used, without any of it
 */
export function checkTls(
  tls: ClientTlsOptions | undefined,
  url: string,
  names: TlsNames = OPTIONS,
): void {
  const { cert, key, ca } = tls ?? {};
  const [first] = (["cert", "key", "ca"] as const)
    .filter((name) => tls?.[name] !== undefined);
  if (first === undefined) return;
  if (!hasNodeModules()) {
    throw new TypeError(
      `Cannot use ${
        names[first]
      } in a browser, which presents its own certificates: leave it out`,
    );
  }
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
  if (crypto === undefined) return; // an old Node: the handshake will tell
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

/** Whether a URL asks for TLS. */
export const isTls = (url: string): boolean => /^(https|wss):/i.test(url);

/** When a certificate ends, if it has ended. */
export function expiryOf(cert: string | undefined): string | undefined {
  const crypto = nodeModule("node:crypto");
  if (cert === undefined || crypto === undefined) return undefined;
  const { validTo } = new crypto.X509Certificate(cert);
  return pastDate(validTo);
}

/** A date in the past, or nothing. */
export const pastDate = (date: string | undefined): string | undefined =>
  date !== undefined && Date.parse(date) < Date.now() ? date : undefined;
