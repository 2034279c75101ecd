/**
 * The HTTP proxy between a client and its Server.
 *
 * {@linkcode chooseProxy} decides whether there is one, from the option of a client and the variables
 * of its environment. {@linkcode openProxy} makes an agent of `node:http` that dials through it:
 * every connection, of polling and of WebSocket, is a tunnel (CONNECT), so a proxy sees neither
 * credentials nor calls where the Server has TLS.
 *
 * @module
 */
import { isLoopbackName } from "../../shared/loopback.ts";
import { loadPackages } from "../../shared/packages.ts";
import { codeOf, ConnectionError, describeFailure } from "../errors.ts";
import { readNoProxy } from "./no_proxy.ts";
import type { UrlOptions } from "../options.ts";
import {
  type Agent,
  type ClientRequest,
  environment,
  hasNodeModules,
  type IncomingMessage,
  nodeModule,
} from "../node_modules.ts";
import { isTls } from "../server_url.ts";
import type { ClientTlsOptions } from "./tls.ts";
import * as webNetwork from "./web_network.ts";

/** A proxy that was chosen. */
export interface Proxy {
  /** Its URL, with the user and the password that it requires, if any. */
  readonly url: URL;
  /** The variable of the environment that names it; none for the option. */
  readonly variable?: string;
  /** What of `NO_PROXY` names no host, if a variable names the proxy. */
  readonly unreadable?: readonly string[];
}

/** The route through a proxy. */
export interface ProxyRoute {
  /** The URL of the proxy, without a password. */
  readonly url: string;
  /**
   * An agent for requests of `node:http` and `node:https`. When the proxy fails, they fail with a
   * {@linkcode ConnectionError} `proxy`.
   */
  readonly agent: Agent;
}

/**
 * Decides which proxy leads to a Server.
 *
 * Variables are those that other programs use: `HTTPS_PROXY` for `https:` and `wss:`, `HTTP_PROXY`
 * for `http:` and `ws:`, else `ALL_PROXY`, also in lower case, which wins; none for this machine
 * itself and for hosts of `NO_PROXY`.
 *
 * @param given the proxy of the options; `false`: none
 * @param variable reads a variable of the environment
 * @param option the name of the option in errors
 * @throws {TypeError} naming the option or the variable that is no URL of a proxy, without its content
 */
export function chooseProxy(
  serverUrl: string,
  given: string | false | undefined,
  variable: (name: string) => string | undefined = environment,
  option = "the option proxy",
): Proxy | undefined {
  if (!hasNodeModules()) return webNetwork.proxyRoute({ proxy: given });
  if (given === false) return undefined;
  if (given !== undefined) return { url: parse(given, option) };
  const { hostname, port } = new URL(serverUrl);
  const secure = isTls(serverUrl);
  if (isLoopbackName(hostname)) return undefined;
  const find = (...names: string[]) =>
    names.flatMap((name) => [name.toLowerCase(), name])
      .map((name) => ({ name, text: variable(name) ?? "" }))
      .find(({ text }) => text !== "");
  const exempt = readNoProxy(find("NO_PROXY")?.text ?? "");
  const destination = { hostname, port: port || (secure ? "443" : "80") };
  if (exempt.exempts(destination)) return undefined;
  const named = find(secure ? "HTTPS_PROXY" : "HTTP_PROXY", "ALL_PROXY");
  return named && {
    url: parse(named.text, named.name, `; ${option} goes before it`),
    variable: named.name,
    unreadable: exempt.unreadable,
  };
}

/**
 * Detects entries of `NO_PROXY` that name no host, such as `10.0.0.0/`, where a Server is reached through
 * a proxy of the environment: they may have meant it.
 *
 * @returns a warning with its remedy, or `undefined`
 */
export function unreadableExemptions(
  { url, proxy }: Partial<Pick<UrlOptions, "url" | "proxy">>,
  variable?: (name: string) => string | undefined,
): string | undefined {
  if (url === undefined) return undefined; // in this process
  const { unreadable = [], variable: named } =
    chooseProxy(url, proxy, variable) ?? {};
  if (unreadable.length === 0) return undefined;
  const entries = unreadable.slice(0, MAX_NAMED)
    .map((entry) => JSON.stringify(entry.slice(0, MAX_ENTRY_CHARS)));
  return `NO_PROXY names no host with ${entries.join(" and ")}, so that ${
    new URL(url).host
  } is reached through the proxy of ${named}: write a name, an address, or a range such as "10.0.0.0/8"`;
}

/** How many entries a warning names, and how much of each. */
const MAX_NAMED = 3;
const MAX_ENTRY_CHARS = 80;

function parse(text: string, source: string, remedy = ""): URL {
  const full = text.includes("://") ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  const isHttp = url !== undefined && /^https?:$/.test(url.protocol);
  if (isHttp && url.hostname !== "" && isDecodable(url)) return url;
  const scheme = url && !isHttp ? `${url.protocol}// is not supported; ` : "";
  throw new TypeError(
    `Cannot use ${source}: ${scheme}expected a URL such as "http://proxy.example:3128" or "http://user:p%40ssword@proxy.example:3128"${remedy}`,
  );
}

/** Checks the percent-encoding of user and password. */
function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

type ProxyLibrary = typeof import("https-proxy-agent");

/** The answer of a proxy to CONNECT. */
type Answer = Pick<IncomingMessage, "statusCode" | "headers">;

/** Time limit for the answer of a proxy; less than that of a handshake, which would not name the proxy. */
const ANSWER_TIMEOUT_MS = 15_000;

/** As options in a variable, these keep bundlers, those for browsers above all, from following an import. */
const NOT_BUNDLED: ImportCallOptions = {};

let load: () => Promise<ProxyLibrary> = () =>
  import("https-proxy-agent", NOT_BUNDLED);

/** Replaces how the library is loaded: a single binary has only what its bundler could follow. */
export function loadProxiesBy(loader: () => Promise<ProxyLibrary>): void {
  load = loader;
}

/**
 * Returns a function that opens the route through the proxy to a Server, once; `undefined` where there is
 * no proxy.
 *
 * `tls.ca` is trusted for an `https:` proxy too. The first call loads the library, and rejects with an
 * error that names the package to install where a bundle lacks it.
 *
 * @throws {TypeError} as {@linkcode chooseProxy}
 */
export function proxyRoute(
  { url, tls, proxy }: Pick<UrlOptions, "url" | "tls" | "proxy">,
): (() => Promise<ProxyRoute>) | undefined {
  const chosen = chooseProxy(url, proxy);
  if (chosen === undefined) return undefined;
  let route: Promise<ProxyRoute> | undefined;
  return () => route ??= openProxy(chosen, new URL(url).host, tls);
}

async function openProxy(
  { url, variable }: Proxy,
  host: string,
  { ca }: ClientTlsOptions = {},
): Promise<ProxyRoute> {
  const packages = ["https-proxy-agent"];
  const { HttpsProxyAgent } = await loadPackages("use a proxy", packages, load);
  const shown = `${url.protocol}//${url.host}`;
  const source = variable === undefined ? "" : ` of ${variable}`;
  const failed = (why: string, cause?: unknown) => {
    const message = `the proxy ${shown}${source} ${why}`;
    return new ConnectionError("proxy", message, { cause });
  };
  const trusted = ca === undefined ? {} : { ca: [...machineAuthorities(), ca] };
  const agent = new HttpsProxyAgent(url, trusted);
  agent.connect = async (request, options) => {
    let answer: Answer | undefined;
    request.once("proxyConnect", (given: Answer) => answer = given);
    const end = new AbortController();
    const dial = new HttpsProxyAgent(url, { ...trusted, signal: end.signal });
    const settle = endWith(request, end);
    const tunnel = await dial.connect(request, options).catch((error) => {
      throw failed(networkReason(error, url), error);
    }).finally(settle);
    if (answer?.statusCode === 200) return tunnel;
    // The library passes on the answer of a proxy that refuses as if the Server had given it.
    tunnel.destroy();
    throw failed(statusReason(answer, url, host));
  };
  return { url: shown, agent };
}

/**
 * Ends a connection to a proxy with the request that it is for, and when the proxy does not answer in
 * time: the library would keep it open, and the program with it.
 *
 * @returns to be called when the proxy has answered
 */
function endWith(request: ClientRequest, end: AbortController): () => void {
  const { destroy } = request;
  const timer = setTimeout(() => end.abort(), ANSWER_TIMEOUT_MS);
  request.destroy = (error) => {
    end.abort();
    return destroy.call(request, error);
  };
  return () => {
    clearTimeout(timer);
    request.destroy = destroy;
  };
}

/** The authorities that this machine trusts. */
function machineAuthorities(): readonly string[] {
  const tls = nodeModule("node:tls");
  return tls?.getCACertificates?.("default") ?? tls?.rootCertificates ?? [];
}

/** Explains an answer to CONNECT other than 200, with its remedy. */
function statusReason(
  answer: Answer | undefined,
  { username }: URL,
  host: string,
): string {
  const { statusCode: status = 0, headers = {} } = answer ?? {};
  if (status === 407) {
    const schemes = String(headers["proxy-authenticate"] ?? "Basic");
    if (!/\bbasic\b/i.test(schemes)) {
      return `does not support Basic authentication, but ${schemes}; run a proxy on this machine that does, and name it`;
    }
    return username === ""
      ? "requires a user and a password: write them into its URL, as in http://user:password@proxy.example:3128"
      : "does not accept the user and the password of its URL; correct them";
  }
  if (status === 403 || status === 405) {
    return `does not allow a connection to ${host} (HTTP ${status}): ask its operator to allow it (many allow only port 443), or exempt the host with NO_PROXY`;
  }
  return status >= 500
    ? `cannot reach ${host} (HTTP ${status}); correct the Server's address, or exempt the host with NO_PROXY`
    : `refused a connection to ${host} (HTTP ${status}); is it an HTTP proxy?`;
}

const NO_ANSWER = "does not answer; is a firewall in between?";
const NO_TLS = "does not speak TLS; write http:// for it";

/** Causes and remedies of proxies that were not reached, by the code of the operating system or of TLS. */
const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: "cannot be reached: connection refused; correct its address",
  ENOTFOUND: "cannot be reached: unknown host name; correct its address",
  EAI_AGAIN: "cannot be reached: its host name cannot be looked up",
  ETIMEDOUT: NO_ANSWER,
  ABORT_ERR: NO_ANSWER,
  EPERM:
    "may not be reached: Deno needs --allow-net for it, or a firewall is in between",
  EPROTO: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
};

/** Matches the errors of a proxy that expected TLS, or expected none; the library has a text for the one. */
const CONNECTION_CLOSED = /ECONNRESET|EPIPE|ended before receiving CONNECT/;

function networkReason(error: unknown, { protocol }: URL): string {
  const cause = { description: error };
  const code = codeOf(cause) ?? "";
  const known = NETWORK[code];
  if (known !== undefined) return known;
  const { text } = describeFailure(cause);
  if (CONNECTION_CLOSED.test(`${code} ${text}`)) {
    return protocol === "https:"
      ? "closed the connection; write http:// for it if it does not speak TLS"
      : "closed the connection; is it an HTTP proxy? Write https:// for it if it speaks TLS";
  }
  return /CERT|VERIFY|ISSUER/i.test(code + text)
    ? `has a certificate that is not trusted (${text}): give its authority with tls.ca`
    : `failed: ${text}`;
}
