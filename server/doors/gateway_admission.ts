/**
 * Who may send a request to a gateway.
 *
 * Each request is admitted once, whichever way it is answered: it is authenticated, counted, and watched
 * until its answer has ended.
 *
 * @module
 */
import { checkGatewayUse, type Identity } from "../shared/identity.ts";
import { ErrorCode, type ErrorPayload } from "../../protocol/mod.ts";
import { SHARE_SEAT } from "../../protocol/shared_seat.ts";
import { API_KEY_HEADER } from "../auth/api_keys.ts";
import { addressOf, type RequestKind } from "../limits/limits.ts";
import { shuttingDown, unauthorized } from "../shared/payload.ts";
import {
  type Exchange,
  type Refusal,
  refusal,
  type RequestHead,
} from "../shared/http.ts";
import type { RequestParts } from "../http/gate.ts";
import type { HostRule } from "../http/host_rule.ts";
import { bearerToken } from "../../shared/authorization.ts";
import type { Gateway, GatewayCaller } from "../../shared/gateway.ts";
import { HOST } from "../../shared/http.ts";
import { OpenExchanges } from "./expiry.ts";
import { KnownClients, mayUse } from "./known_clients.ts";

/** The parts of a server that {@linkcode GatewayAdmission} needs. */
export interface AdmissionParts extends RequestParts {
  /** The issuers of the tokens that it accepts. */
  readonly authorizationServers: readonly string[];
}

/** Admits the requests of a gateway's clients by the rules for all clients, for one office and as its Agent. */
export class GatewayAdmission {
  readonly #parts: AdmissionParts;
  /** The path before the name of an office. */
  readonly #path: string;
  readonly #open: OpenExchanges;
  readonly #clients: KnownClients;
  /** By request. */
  readonly #verdicts = new WeakMap<object, Promise<GatewayCaller>>();

  /** @param gateway its path before the name of an office, and what ends what a client has beyond its requests */
  constructor(
    gateway: Pick<Gateway, "path" | "forget">,
    parts: AdmissionParts,
  ) {
    this.#path = gateway.path;
    this.#parts = parts;
    this.#open = new OpenExchanges(parts);
    const forget = (caller: GatewayCaller) => gateway.forget(caller);
    this.#clients = new KnownClients(parts.authenticator, forget);
  }

  /**
   * Decides about a request for this host, once: returns who sends it, for the office that he may use.
   *
   * @throws {Response} the refusal
   */
  admit(exchange: Exchange, office: string): Promise<GatewayCaller> {
    const known = this.#verdicts.get(exchange.incoming);
    if (known !== undefined) return known;
    const verdict = this.#judge(exchange, office);
    this.#verdicts.set(exchange.incoming, verdict);
    return verdict;
  }

  /** Ends the requests of those whose credentials are not valid any more, and then what they have beyond them. */
  async recheck(): Promise<void> {
    await this.#open.recheck();
    await this.#clients.recheck();
  }

  /** Resolves when all requests have ended; those that have not after a second are ended. */
  ended(): Promise<void> {
    this.#clients.close();
    return this.#open.ended();
  }

  async #judge(
    { incoming, outgoing }: Exchange,
    office: string,
  ): Promise<GatewayCaller> {
    const { draining, maxMessageBytes } = this.#parts;
    if (draining()) refuse(503, shuttingDown().toPayload());
    const address = addressOf(incoming, this.#parts);
    const identity = await this.#authenticate(incoming, office, address);
    const caller = {
      office,
      ...(identity && { principal: identity.principal }),
    };
    const kind = kindOf(incoming);
    const excess = this.#open.count(
      outgoing,
      address,
      caller.principal,
      kind,
    );
    if (excess) refuse(429, excess.toPayload(), { "Retry-After": "1" });
    if (Number(incoming.headers["content-length"]) > maxMessageBytes) {
      // It is not read, so that the client gets the answer.
      refuse(413, `The body is too large: at most ${maxMessageBytes} bytes`);
    }
    const mayStay = (identity: Identity) => mayUse(identity, office);
    this.#open.add(outgoing, identity, mayStay);
    if (identity) this.#clients.saw(caller, identity);
    return caller;
  }

  /** Authenticates the client of a request, and checks whether it may use the office. */
  async #authenticate(
    incoming: RequestHead,
    office: string,
    address: string,
  ): Promise<Identity | undefined> {
    const { authenticator, limiter } = this.#parts;
    if (authenticator === undefined) return undefined;
    const { headers } = incoming;
    // Clients that can send only this header send API keys in it, too.
    const token = bearerToken(headers.authorization);
    const auth = token === undefined ? {} : { token };
    const verdict = await authenticator.authenticate({
      headers,
      auth,
      address,
    });
    const record = (code: number, reason: string, principal?: string) =>
      limiter.recordRefusedHandshake("http", {
        code,
        reason,
        address,
        office,
        ...(principal !== undefined && { principal }),
      });
    if ("refused" in verdict) {
      record(ErrorCode.UNAUTHORIZED, verdict.refused);
      const hadCredentials = token !== undefined ||
        headers[API_KEY_HEADER] !== undefined;
      const urls = this.urlsOf(incoming, office);
      refuse(401, unauthorized(verdict).toPayload(), {
        "WWW-Authenticate": challenge(urls, hadCredentials),
      });
    }
    const forbidden = checkGatewayUse(verdict, office, Date.now());
    if (forbidden === undefined) return verdict;
    record(ErrorCode.FORBIDDEN, forbidden, verdict.principal);
    refuse(403, forbidden);
  }

  /** Returns the URLs of an office; `undefined` when there is no issuer that clients could ask. */
  urlsOf(incoming: RequestHead, office: string): ResourceUrls | undefined {
    if (this.#parts.authorizationServers.length === 0) return undefined;
    const path = `${this.#path}/${encodeURIComponent(office)}`;
    return resourceUrls(incoming, path, this.#parts);
  }
}

/** Methods of MCP whose answers last as long as their clients wait for something else. */
const STREAMS: readonly unknown[] = ["subscriptions/listen", SHARE_SEAT];

/**
 * Returns what a request waits for. A client has a stream open beside its calls, which must not wait for
 * the end of that.
 */
const kindOf = ({ method, headers }: RequestHead): RequestKind =>
  method === "GET" || STREAMS.includes(headers["mcp-method"])
    ? "stream"
    : "call";

/** @throws {Response} always, with an error of JSON-RPC */
export function refuse(
  status: Refusal["status"],
  error: ErrorPayload | string,
  headers?: Readonly<Record<string, string>>,
): never {
  throw toGatewayResponse(refusal(status, error), headers);
}

/** The JSON-RPC code of errors that belong to no request. */
const REFUSED = -32000;

/** Converts a refusal to a `Response` as clients of a gateway read it: with an error of JSON-RPC. */
export function toGatewayResponse(
  { status, headers, body }: Refusal,
  further: Readonly<Record<string, string>> = {},
): Response {
  const { message }: { message: string } = JSON.parse(body);
  const error = { code: REFUSED, message };
  return new Response(JSON.stringify({ jsonrpc: "2.0", error, id: null }), {
    status,
    headers: { ...headers, ...further },
  });
}

/** Where OAuth clients look for what protects a resource (RFC 9728). */
export const METADATA_ROOT = "/.well-known/oauth-protected-resource";

/** A resource of a gateway, as its clients see it. */
interface ResourceUrls {
  /** Its own URL. */
  readonly resource: string;
  /** Where its metadata is. */
  readonly metadata: string;
}

/**
 * Returns the URLs of a gateway's office, as the client that asks must name them.
 *
 * @param path of the office, encoded
 * @param rule the public URL, which wins over the request
 * @returns `undefined` when neither names a usable host
 */
export function resourceUrls(
  request: Pick<RequestHead, "headers" | "socket">,
  path: string,
  { publicUrl, proxies }: Pick<HostRule, "publicUrl" | "proxies">,
): ResourceUrls | undefined {
  const base = publicUrl ?? requestedOrigin(request, proxies);
  if (base === undefined) return undefined;
  return {
    resource: `${base}${path}`,
    // Below the path of a public URL: of other paths a proxy may pass nothing on.
    metadata: `${base}${METADATA_ROOT}${path}`,
  };
}

/** @param proxies number of trusted proxies, of which the first states whether the client used HTTPS */
function requestedOrigin(
  { headers, socket }: Pick<RequestHead, "headers" | "socket">,
  proxies: number,
): string | undefined {
  const forwarded = proxies > 0 ? headers["x-forwarded-proto"] : undefined;
  const isSecure = forwarded === undefined
    ? socket.encrypted === true
    : /^https\b/i.test(String(forwarded));
  const url = URL.parse(`${isSecure ? "https" : "http"}://${headers.host}`);
  const isUsable = headers.host !== undefined && url !== null &&
    HOST.test(url.host);
  return isUsable ? url.origin : undefined;
}

/**
 * Makes the challenge of a 401.
 *
 * @param urls where the metadata is, if there is any
 * @param hadCredentials whether the request had some, which were refused
 */
export function challenge(
  urls: ResourceUrls | undefined,
  hadCredentials: boolean,
): string {
  const parameters = [
    hadCredentials && 'error="invalid_token"',
    urls && `resource_metadata="${urls.metadata}"`,
  ];
  return `Bearer ${parameters.filter(Boolean).join(", ")}`.trim();
}
