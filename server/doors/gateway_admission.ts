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
import type { Refused } from "../auth/authenticator.ts";
import { addressOf, type RequestKind } from "../limits/limits.ts";
import { log, reasonOf } from "../shared/log.ts";
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
import type {
  CallerGrant,
  Gateway,
  GatewayCaller,
} from "../../shared/gateway.ts";
import { HOST } from "../../shared/http.ts";
import { OpenExchanges, type Refresh } from "./expiry.ts";
import { KnownClients, mayUse } from "./known_clients.ts";
import type { SignIn } from "./sign_in.ts";

/** The parts of a server that {@linkcode GatewayAdmission} needs. */
export interface AdmissionParts extends RequestParts {
  /** The issuers of the tokens that it accepts. */
  readonly authorizationServers: readonly string[];
  /** Lets in programs that a person has allowed; absent where there is no sign-in. */
  readonly signIn?: SignIn | undefined;
}

/** Who a request is of. */
interface Admitted {
  readonly office: string;
  /** Absent without authentication. */
  readonly identity?: Identity;
  /** What a person has allowed, where the request has a token of the sign-in. */
  readonly grant?: CallerGrant;
}

/** Admits the requests of a gateway's clients by the rules for all clients, for one office and as its Agent. */
export class GatewayAdmission {
  readonly #parts: AdmissionParts;
  /** The path before the name of an office. */
  readonly #path: string;
  readonly #open: OpenExchanges;
  readonly #clients: KnownClients;
  #rechecks = 0;
  /** By request, of those that go on in another way than the one that was tried first. */
  readonly #verdicts = new WeakMap<object, Promise<GatewayCaller>>();

  /** @param gateway its path before the name of an office, and what ends what a client has beyond its requests */
  constructor(
    gateway: Pick<Gateway, "path" | "forget">,
    parts: AdmissionParts,
  ) {
    this.#path = gateway.path;
    this.#parts = parts;
    const { limiter, signIn } = parts;
    const refresh: Refresh = (identity) =>
      signIn?.refresh(identity) ?? parts.authenticator?.refresh?.(identity);
    this.#open = new OpenExchanges(limiter, refresh);
    const forget = (caller: GatewayCaller) => gateway.forget(caller);
    this.#clients = new KnownClients(refresh, forget);
  }

  /**
   * Decides about a request for this host: returns who sends it, for the office that he may use. It is
   * called once for each request, or its decision is kept.
   *
   * @param office `undefined` at the path without one, where the token of a sign-in has it
   * @throws {Response} the refusal
   */
  admit(
    exchange: Exchange,
    office: string | undefined,
  ): Promise<GatewayCaller> {
    return this.#verdicts.get(exchange.incoming) ??
      this.#judge(exchange, office);
  }

  /** Keeps what {@linkcode admit} has decided about a request, for its next call. */
  keep(incoming: object, verdict: Promise<GatewayCaller>): void {
    this.#verdicts.set(incoming, verdict);
  }

  /** Ends the requests of those whose credentials are not valid any more, and then what they have beyond them. */
  async recheck(): Promise<void> {
    this.#rechecks++;
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
    wanted: string | undefined,
  ): Promise<GatewayCaller> {
    const { draining, maxMessageBytes } = this.#parts;
    if (draining()) refuse(503, shuttingDown().toPayload());
    const address = addressOf(incoming, this.#parts);
    let admitted: Admitted;
    let rechecks: number;
    do {
      // A recheck meanwhile does not know of this request, and may have ended what lets it in.
      rechecks = this.#rechecks;
      admitted = await this.#signedIn(incoming, wanted, address) ??
        await this.#withKey(incoming, wanted, address);
    } while (rechecks !== this.#rechecks);
    const { office, identity, grant } = admitted;
    const caller = {
      office,
      ...(identity && { principal: identity.principal }),
      ...(grant && { grant }),
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

  /**
   * Decides about the token of a sign-in, which is good at this door alone.
   *
   * @returns `undefined` where the request has none
   */
  async #signedIn(
    incoming: RequestHead,
    office: string | undefined,
    address: string,
  ): Promise<Admitted | undefined> {
    const { signIn } = this.#parts;
    const token = signIn && bearerToken(incoming.headers.authorization);
    if (token === undefined) return undefined;
    const verdict = await signIn?.admit(token, office)?.catch(unjudged);
    if (verdict === undefined) return undefined;
    if ("refused" in verdict) {
      return this.#refuse(verdict, incoming, office, address);
    }
    // An office is a name here, and not a pattern as in the policy of a key.
    if ((office ?? verdict.office) === verdict.office) return verdict;
    const refused = "the token is for another office";
    return this.#refuse({ refused }, incoming, office, address);
  }

  /** Authenticates the client of a request without a sign-in, and checks whether it may use the office. */
  async #withKey(
    incoming: RequestHead,
    office: string | undefined,
    address: string,
  ): Promise<Admitted> {
    const { authenticator, signIn, limiter } = this.#parts;
    if (authenticator === undefined) {
      if (signIn === undefined && office !== undefined) return { office };
      const refused = "no token of a sign-in";
      return this.#refuse({ refused }, incoming, office, address);
    }
    const { headers } = incoming;
    // Clients that can send only this header send API keys in it, too.
    const token = bearerToken(headers.authorization);
    const auth = token === undefined ? {} : { token };
    const identity = await authenticator.authenticate({
      headers,
      auth,
      address,
    });
    if ("refused" in identity) {
      return this.#refuse(identity, incoming, office, address);
    }
    if (office === undefined) refuse(404, officeMissing(this.#path));
    const reason = checkGatewayUse(identity, office, Date.now());
    if (reason === undefined) return { office, identity };
    const code = ErrorCode.FORBIDDEN;
    const { principal } = identity;
    const about = { code, reason, address, office, principal };
    limiter.recordRefusedHandshake("http", about);
    refuse(403, reason);
  }

  /** @throws {Response} always: 401, which names where the client finds an issuer */
  #refuse(
    verdict: Refused,
    incoming: RequestHead,
    office: string | undefined,
    address: string,
  ): never {
    const { limiter, signIn } = this.#parts;
    limiter.recordRefusedHandshake("http", {
      code: ErrorCode.UNAUTHORIZED,
      reason: verdict.refused,
      address,
      ...(office !== undefined && { office }),
    });
    const { authorization, [API_KEY_HEADER]: key } = incoming.headers;
    const hadCredentials = bearerToken(authorization) !== undefined ||
      key !== undefined;
    refuse(401, unauthorized(verdict).toPayload(), {
      "WWW-Authenticate": signIn?.challenge(office, hadCredentials) ??
        challenge(
          office === undefined ? undefined : this.urlsOf(incoming, office),
          hadCredentials,
        ),
    });
  }

  /** Returns the URLs of an office; `undefined` when there is no issuer that clients could ask. */
  urlsOf(incoming: RequestHead, office: string): ResourceUrls | undefined {
    if (this.#parts.authorizationServers.length === 0) return undefined;
    const path = `${this.#path}/${encodeURIComponent(office)}`;
    return resourceUrls(incoming, path, this.#parts);
  }
}

/**
 * Answers where nothing can judge a token now: clients keep it, and try again.
 *
 * @throws {Response} always
 */
function unjudged(error: unknown): never {
  log.error(
    "Cannot judge a token of the sign-in: {reason}",
    reasonOf(error),
  );
  const why = "The server cannot judge tokens now; try again";
  refuse(503, why, { "Retry-After": "1" });
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

/** Returns what the path of a gateway without an office lacks. */
export const officeMissing = (path: string): string =>
  `Not found: name the office, as in ${path}/OFFICE`;

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
