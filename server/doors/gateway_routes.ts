/**
 * The HTTP side of a gateway such as MCP: each request is admitted by the rules for all clients, for one
 * office and as its Agent, and then given to the gateway.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { cors } from "hono/cors";
import type { GatewaySeats } from "./gateway_seats.ts";
import type { CallSource, Gateway, GatewayHost } from "../../shared/gateway.ts";
import type { InProcessConnection } from "../../shared/in_process.ts";
import { checkGatewayUse, type Identity } from "../shared/identity.ts";
import { ErrorCode, type ErrorPayload } from "../../protocol/mod.ts";
import { isOfficeName, OFFICE_NAME_RULE } from "../../protocol/names.ts";
import { SHARE_SEAT } from "../../protocol/shared_seat.ts";
import { API_KEY_HEADER } from "../auth/api_keys.ts";
import { addressOf, type RequestKind } from "../limits/limits.ts";
import {
  errorPayloadOf,
  shuttingDown,
  unauthorized,
} from "../shared/payload.ts";
import {
  type Exchange,
  isEncoded,
  notFound,
  type Refusal,
  refusal,
  type RequestHead,
} from "../shared/http.ts";
import { judgeHost, judgeOrigin, type RequestParts } from "../http/gate.ts";
import type { HostRule } from "../http/host_rule.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import { bearerToken } from "../../shared/authorization.ts";
import { HOST } from "../../shared/http.ts";
import { OpenExchanges } from "./expiry.ts";

/** How a gateway is made, and what it shares with other parts. */
export interface GatewaySetup {
  /** Makes it. */
  readonly start: (host: GatewayHost) => Gateway;
  /** The identity of its Agents: one object for all, by which they are recognized. */
  readonly agents: Identity;
}

/** The parts of a server that {@linkcode GatewayRoutes} needs. */
interface GatewayParts extends RequestParts {
  /** The seats of its Agents. */
  readonly seats: GatewaySeats | undefined;
  /** Connects its Agents; `callerOf` finds the sender of the request with a `req_id`. */
  readonly connect: (
    agents: Identity,
    callerOf: (reqId: string) => CallSource | undefined,
  ) => InProcessConnection;
  /** The issuers of the tokens that it accepts. */
  readonly authorizationServers: readonly string[];
}

/** What answers a request for an office. */
type Answer = (
  exchange: Exchange,
  office: string,
  request: Request,
) => Response | Promise<Response>;

/**
 * The HTTP requests of a gateway's clients: admits them by the rules for all clients, for one office
 * and as its Agent, at every request.
 */
export class GatewayRoutes {
  readonly #parts: GatewayParts;
  readonly #gateway: Gateway;
  readonly #open: OpenExchanges;

  /** Makes the gateway, and connects it with its server. */
  constructor({ start, agents }: GatewaySetup, parts: GatewayParts) {
    this.#parts = parts;
    this.#open = new OpenExchanges(parts);
    const callers = new Map<string, CallSource>();
    this.#gateway = start({
      limits: parts.limiter.limits,
      maxMessageBytes: parts.maxMessageBytes,
      connect: () => parts.connect(agents, (reqId) => callers.get(reqId)),
      agentOf: (office) => Promise.resolve(parts.seats?.holderOf(office)),
      attribute: (reqId, caller) => {
        callers.set(reqId, caller);
        return () => {
          if (callers.get(reqId) === caller) callers.delete(reqId);
        };
      },
    });
    parts.seats?.serve(this.#gateway);
  }

  /** Adds the routes to an app. */
  mount(app: Hono<SmcpEnv>): void {
    const { origins } = this.#parts;
    const path = `${this.#gateway.path}/:office`;
    const metadata = `${METADATA_ROOT}${path}`;
    const allow = cors({
      origin: origins === "*" ? "*" : [...origins],
      allowMethods: ["GET", "POST", "DELETE"],
      // All that a page asks for: MCP names headers after the arguments of tools, too.
      exposeHeaders: ["mcp-session-id", "www-authenticate"],
    });
    for (const each of origins.length > 0 ? [path, metadata] : []) {
      app.use(each, allow);
    }
    app.all(path, (c) => this.#answer(c, this.#serve));
    app.get(metadata, (c) => this.#answer(c, this.#describe));
  }

  /** Returns what a path without an office lacks. */
  hintAt(path: string): string | undefined {
    const own = this.#gateway.path;
    return path === own || path === `${own}/`
      ? `Not found: name the office, as in ${own}/OFFICE`
      : undefined;
  }

  /** Ends the requests of those whose credentials are not valid any more. */
  recheck(): Promise<void> {
    return this.#open.recheck();
  }

  /** Lets calls end that have their answers, and ends everything else. */
  async close(): Promise<void> {
    await this.#gateway.close();
    await this.#open.ended();
  }

  /** Answers a request for this server, of no page or of one that may call it. */
  async #answer(c: Context<SmcpEnv>, answer: Answer): Promise<Response> {
    const { incoming, outgoing }: Partial<Exchange> = c.env ?? {};
    try {
      if (incoming === undefined || outgoing === undefined) {
        refuse(500, "The app must be served by @hono/node-server");
      }
      const refused = judgeHost(incoming, this.#parts) ??
        judgeOrigin(incoming, this.#parts);
      if (refused) throw toGatewayResponse(refused);
      return await answer({ incoming, outgoing }, officeIn(c), c.req.raw);
    } catch (error) {
      incoming?.resume(); // an unread body would hold the connection open
      if (error instanceof Response) return error;
      return toGatewayResponse(refusal(500, errorPayloadOf(error)));
    }
  }

  readonly #serve: Answer = async ({ incoming, outgoing }, office, request) => {
    const { draining, maxMessageBytes } = this.#parts;
    if (draining()) refuse(503, shuttingDown().toPayload());
    const address = addressOf(incoming, this.#parts);
    const identity = await this.#authenticate(incoming, office, address);
    const caller = identity && { principal: identity.principal };
    const { principal } = caller ?? {};
    const kind = kindOf(incoming);
    const excess = this.#open.count(outgoing, address, principal, kind);
    if (excess) refuse(429, excess.toPayload(), { "Retry-After": "1" });
    if (Number(incoming.headers["content-length"]) > maxMessageBytes) {
      // It is not read, so that the client gets the answer.
      refuse(413, `The body is too large: at most ${maxMessageBytes} bytes`);
    }
    this.#open.add(outgoing, identity);
    return await this.#gateway.handle(request, { office, ...caller });
  };

  readonly #describe: Answer = ({ incoming }, office) => {
    const urls = this.#urls(incoming, office);
    if (urls === undefined) throw toGatewayResponse(notFound());
    return Response.json({
      resource: urls.resource,
      authorization_servers: this.#parts.authorizationServers,
      bearer_methods_supported: ["header"],
    });
  };

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
      const urls = this.#urls(incoming, office);
      refuse(401, unauthorized(verdict).toPayload(), {
        "WWW-Authenticate": challenge(urls, hadCredentials),
      });
    }
    const forbidden = checkGatewayUse(verdict, office, Date.now());
    if (forbidden === undefined) return verdict;
    record(ErrorCode.FORBIDDEN, forbidden, verdict.principal);
    refuse(403, forbidden);
  }

  /** @returns `undefined` when there is no issuer that clients could ask */
  #urls(incoming: RequestHead, office: string): ResourceUrls | undefined {
    if (this.#parts.authorizationServers.length === 0) return undefined;
    const path = `${this.#gateway.path}/${encodeURIComponent(office)}`;
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

/**
 * Returns the office that a request is for.
 *
 * @throws {Response} 404, when no office can have that name
 */
function officeIn(c: Context<SmcpEnv>): string {
  const office = c.req.param("office") ?? "";
  if (isOfficeName(office) && isEncoded(c.req.path)) return office;
  refuse(
    404,
    `Not found: the path ends with the name of an office, ${OFFICE_NAME_RULE}, encoded as UTF-8`,
  );
}

/** @throws {Response} always, with an error of JSON-RPC */
function refuse(
  status: Refusal["status"],
  error: ErrorPayload | string,
  headers?: Readonly<Record<string, string>>,
): never {
  throw toGatewayResponse(refusal(status, error), headers);
}

/** The JSON-RPC code of errors that belong to no request. */
const REFUSED = -32000;

/** Converts a refusal to a `Response` as clients of a gateway read it: with an error of JSON-RPC. */
function toGatewayResponse(
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
const METADATA_ROOT = "/.well-known/oauth-protected-resource";

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
