/**
 * Certificates of a client: checking them before the first connection, and explaining a failed TLS
 * handshake by what to change on which side.
 *
 * @module
 */
import {
  type Agent,
  hasNodeModules,
  nodeModule,
  type TLSSocket,
} from "../node_modules.ts";
import { isTls } from "../server_url.ts";
import * as webNetwork from "./web_network.ts";
import type { NamesOf } from "../../shared/checks.ts";

/** Certificates of a client and its trusted authorities; all as PEM (protocol §10). */
export interface ClientTlsOptions {
  /** The client's certificate chain without the root; requires `key`. */
  readonly cert?: string;
  /** The private key of the first certificate. */
  readonly key?: string;
  /** Certificate authorities to trust instead of those of this machine. */
  readonly ca?: string;
}

/** The names of {@linkcode ClientTlsOptions}. */
export const CLIENT_TLS_NAMES = {
  cert: true,
  key: true,
  ca: true,
} satisfies NamesOf<ClientTlsOptions>;

/** The names of {@linkcode ClientTlsOptions} in errors, such as those of flags. */
type TlsNames = Readonly<Record<keyof ClientTlsOptions, string>>;

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
  if (!hasNodeModules()) return webNetwork.checkTls(tls);
  const { cert, key, ca } = tls ?? {};
  const first = (["cert", "key", "ca"] as const)
    .find((name) => tls?.[name] !== undefined);
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
  const read = <T>(name: string, what: string, make: () => T): T => {
    try {
      return make();
    } catch {
      throw new TypeError(`Cannot use ${name}: it has no ${what} in PEM form`);
    }
  };
  const certificateOf = (name: string, pem: string) =>
    read(name, "certificate", () => new crypto.X509Certificate(pem));
  if (ca !== undefined) certificateOf(names.ca, ca);
  if (cert === undefined || key === undefined) return;
  const certificate = certificateOf(names.cert, cert);
  const kind = "private key without a passphrase";
  const own = read(names.key, kind, () => crypto.createPrivateKey(key));
  if (!certificate.checkPrivateKey(own)) {
    throw new TypeError(
      `Cannot use ${names.key}: it is not the key of ${names.cert}`,
    );
  }
}

/** Returns when a certificate expired, if it has. */
function expiryOf(cert: string | undefined): string | undefined {
  const crypto = nodeModule("node:crypto");
  if (cert === undefined || crypto === undefined) return undefined;
  return pastDate(new crypto.X509Certificate(cert).validTo);
}

/** Returns a date if it is in the past. */
const pastDate = (date: string | undefined): string | undefined =>
  date !== undefined && Date.parse(date) < Date.now() ? date : undefined;

/** Time limit for reading a Server's certificate after a failure. */
const INSPECT_TIMEOUT_MS = 10_000;

/**
 * Describes why a TLS handshake failed, or that one side alone has TLS, and what to change on which
 * side, with option names such as `tls.ca`.
 *
 * @param code the error code of the failed request, such as `CERT_HAS_EXPIRED`
 * @param agent the agent of `node:https` that leads to the Server, if it is not the usual one
 * @returns `undefined` for other failures
 */
export async function tlsReason(
  code: string | undefined,
  { url, tls = {} }: { url: string; tls?: ClientTlsOptions | undefined },
  agent?: object,
): Promise<string | undefined> {
  if (code === undefined) return undefined;
  const scheme = /^ws/i.test(url) ? "ws" : "http";
  const plain = `${scheme}://`;
  const secure = `${scheme}s://`;
  if (!isTls(url)) {
    return NO_HTTP.test(code) && await peerCertificate(url, agent)
      ? `it speaks TLS there; write ${secure} instead of ${plain}`
      : undefined;
  }
  if (NO_TLS.test(code)) {
    return `it does not speak TLS there; write ${plain} instead of ${secure}`;
  }
  if (/ALERT_(CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE)/.test(code)) {
    return tls.cert === undefined
      ? "the server requires a client certificate: give tls.cert and tls.key"
      : notAccepted(tls);
  }
  if (/ALERT_.*(CERTIFICATE|UNKNOWN_CA)/.test(code)) return notAccepted(tls);
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const { hostname } = new URL(url);
    return `the server's certificate is not for the host "${hostname}"; correct the URL, or have the certificate made for it`;
  }
  if (code === "CERT_NOT_YET_VALID") {
    return "the server's certificate is not valid yet; is this machine's clock right?";
  }
  if (code === "CERT_HAS_EXPIRED") return expired();
  if (UNTRUSTED.test(code)) {
    // Deno reports the same code for one that has expired.
    const date = pastDate((await peerCertificate(url, agent))?.valid_to);
    return date === undefined ? untrusted(tls) : expired(date);
  }
  return code === "ECONNRESET" ? connectionClosed(tls) : undefined;
}

/** Matches the codes for what a server with TLS does when it gets a request without. */
const NO_HTTP = /^(HPE_|ECONNRESET$)/;

/** Matches the codes for an answer without TLS. */
const NO_TLS = /^EPROTO$|WRONG_VERSION_NUMBER/;

/** Matches the codes for a chain without a known authority. */
const UNTRUSTED =
  /UNABLE_TO_(VERIFY|GET)|SELF_SIGNED|UnknownIssuer|CERT_UNTRUSTED|INVALID_CA/i;

function notAccepted({ cert }: ClientTlsOptions): string {
  const date = expiryOf(cert);
  return date === undefined
    ? "the server does not accept the client certificate tls.cert: its authority has to be one of those that the server trusts for clients"
    : `the client certificate tls.cert has expired (${date}); have it renewed`;
}

/** Some libraries only report the end of the connection when a server refuses a certificate. */
function connectionClosed(tls: ClientTlsOptions): string {
  const closed = "the server closed the connection";
  if (tls.cert === undefined) {
    return `${closed}; if it requires a client certificate, give tls.cert and tls.key`;
  }
  const why = notAccepted(tls);
  return expiryOf(tls.cert) === undefined
    ? `${closed}, possibly because ${why.replace(/^the server/, "it")}`
    : why;
}

const untrusted = ({ ca }: ClientTlsOptions): string =>
  ca === undefined
    ? "the server's certificate is of an authority that this machine does not know; name that authority with tls.ca"
    : "the server's certificate is not of an authority in tls.ca";

const expired = (date?: string): string =>
  `the server's certificate has expired${
    date === undefined ? "" : ` (${date})`
  }; its operator has to renew it, and nothing with tls.ca helps`;

/** Reads the certificate that a server presents, of whatever authority; it has none without TLS. */
function peerCertificate(url: string, agent: object | undefined) {
  const https = nodeModule("node:https");
  if (https === undefined) return undefined;
  const { hostname, port } = new URL(url);
  return new Promise<
    ReturnType<TLSSocket["getPeerCertificate"]> | undefined
  >((resolve) => {
    // Nothing is sent, since the request does not end.
    const request = https.request(
      `https://${hostname}:${port || (isTls(url) ? 443 : 80)}`,
      { rejectUnauthorized: false, agent: agent as Agent | undefined ?? false },
    );
    const done = (socket?: TLSSocket) => {
      clearTimeout(timer);
      const certificate = socket?.getPeerCertificate();
      request.destroy();
      resolve(certificate);
    };
    const timer = setTimeout(done, INSPECT_TIMEOUT_MS);
    request.on("error", () => done());
    request.on(
      "socket",
      (socket: TLSSocket) => socket.on("secureConnect", () => done(socket)),
    );
  });
}
