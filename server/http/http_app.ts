/**
 * The HTTP app of a server, with all routes but upgrades.
 *
 * @module
 */
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { shownBounds } from "../../protocol/event_table.ts";
import { ERROR_CODE_HEADER } from "../../protocol/mod.ts";
import { errorPayloadOf, unauthorized } from "../shared/payload.ts";
import {
  type Exchange,
  notFound,
  refusal,
  type RequestHead,
  toResponse,
} from "../shared/http.ts";
import { admitRequest, judgeHost, type RequestParts } from "./gate.ts";
import { isLoopback } from "../../shared/loopback.ts";
import { addressOf } from "../limits/limits.ts";
import type { Metrics, SmcpServerStats } from "../observe/metrics.ts";
import type { ClusterStatus } from "../shared/cluster.ts";

/** The Hono environment of the app: the request and response of `node:http`, from `@hono/node-server`. */
export interface SmcpEnv {
  /** The type of `c.env`. */
  Bindings: HttpBindings;
}

/** The parts of a server that {@linkcode httpApp} needs. */
interface HttpAppParts extends RequestParts {
  /** Adds the routes of a gateway's clients. */
  readonly gateway: {
    mount(app: Hono<SmcpEnv>): void;
    /** Returns a hint for an unknown path that looks like one of its own. */
    hintAt(path: string): string | undefined;
  } | undefined;
  /** Adds the routes of operators. */
  readonly operator: { mount(app: Hono<SmcpEnv>): void } | undefined;
  /** Adds the routes of persons' devices. */
  readonly devices: { mount(app: Hono<SmcpEnv>): void } | undefined;
  /** Returns the counts for `/health`. */
  stats(): SmcpServerStats;
  /** Returns the counts of each version; `undefined` where there is one alone. */
  protocols(): Readonly<Record<string, SmcpServerStats>> | undefined;
}

/** Creates the HTTP app: the gate before Engine.IO, `/health`, `/ready` and `/metrics` (protocol §2). */
export function httpApp(parts: HttpAppParts): Hono<SmcpEnv> {
  const app = new Hono<SmcpEnv>();
  // Only for these paths: the app may be mounted in another one.
  for (const path of ["/health", "/ready", "/metrics", ...parts.paths]) {
    app.use(path, hostGuard(parts));
  }
  const allow = cors({
    origin: parts.origins === "*" ? "*" : [...parts.origins],
    allowMethods: ["GET", "POST"],
    exposeHeaders: [ERROR_CODE_HEADER],
  });
  // Clients of other origins read the versions there.
  if (parts.origins.length > 0) app.use("/health", allow);
  const { maxMessageBytes: message_bytes } = parts;
  const limits = { message_bytes, events: shownBounds(message_bytes) };
  app.get("/health", (c) => {
    const protocols = parts.protocols();
    return c.json({
      status: parts.draining() ? "draining" : "ok",
      protocol_version: parts.profiles.at(-1)?.version,
      ...(parts.profiles.length > 1 && {
        protocol_versions: parts.profiles.map(({ version }) => version),
      }),
      ...parts.stats(),
      limits,
      ...(protocols && { protocols }),
      ...(parts.cluster && { cluster: shown(parts.cluster.status()) }),
    });
  });
  app.get("/ready", (c) => {
    const hindrance = parts.draining() ? "draining" : parts.cluster?.hindrance;
    return hindrance === undefined
      ? c.json({ status: "ready" })
      : c.json({ status: hindrance }, 503);
  });
  const { metrics } = parts;
  if (metrics) {
    app.get("/metrics", async (c) => {
      const mayRead = await mayReadMetrics(c.env?.incoming, parts);
      if (mayRead) return await showMetrics(c, metrics);
      return toResponse(refusal(401, unauthorized().toPayload()));
    });
  }
  for (const path of parts.paths) {
    if (parts.origins.length > 0) app.use(path, allow);
    app.options(path, (c) => c.body(null, 204));
    app.all(path, (c) => enter(c, parts));
  }
  parts.gateway?.mount(app);
  parts.operator?.mount(app);
  parts.devices?.mount(app);
  app.notFound((c) => toResponse(notFound(parts.gateway?.hintAt(c.req.path))));
  app.onError((error) => toResponse(refusal(500, errorPayloadOf(error))));
  return app;
}

const shown = ({ leaseMs, ...status }: ClusterStatus) => ({
  ...status,
  lease_ms: leaseMs,
});

/** Creates middleware that refuses requests for other hosts. */
export const hostGuard =
  (parts: RequestParts): MiddlewareHandler => async (c, next) => {
    const { incoming }: Partial<Exchange> = c.env ?? {};
    const refused = incoming && judgeHost(incoming, parts);
    if (refused === undefined) return await next();
    incoming?.resume(); // an unread body would hold the connection open
    return toResponse(refused);
  };

/** Answers a request for the metrics. */
export const showMetrics = async (
  c: Context<SmcpEnv>,
  metrics: Metrics,
): Promise<Response> =>
  c.body(await metrics.text(), 200, { "Content-Type": metrics.contentType });

function enter(
  c: Context<SmcpEnv>,
  parts: HttpAppParts,
): Response | Promise<Response> {
  const { incoming, outgoing }: Partial<Exchange> = c.env ?? {};
  const { url, headers } = c.req.raw;
  const origin = headers.get("Origin") ?? undefined;
  const head = incoming ?? { url, headers: { origin }, socket: {} };
  const refused = admitRequest(head, outgoing, parts);
  if (refused === undefined && incoming && outgoing) {
    return parts.engine.answer({ incoming, outgoing }, corsHeaders(c, parts));
  }
  incoming?.resume(); // an unread body would hold the connection open
  return toResponse(refused ?? NOT_SERVED);
}

const NOT_SERVED = refusal(
  500,
  "Cannot open a session: the app must be served by @hono/node-server",
);

/** The CORS headers, for an answer that is not returned. */
function corsHeaders(
  c: Context<SmcpEnv>,
  { origins }: HttpAppParts,
): Record<string, string> {
  if (origins.length === 0) return {};
  return {
    ...Object.fromEntries(
      [...c.res.headers].filter(([name]) => name.startsWith("access-control-")),
    ),
    ...(origins !== "*" && { Vary: "Origin" }),
  };
}

/**
 * Returns whether a request may read the metrics on the address of the clients (protocol §10).
 *
 * With authentication, every client that may connect. Without, only this machine, and no request that
 * a proxy forwarded.
 */
async function mayReadMetrics(
  incoming: RequestHead | undefined,
  { authenticator, proxies }: HttpAppParts,
): Promise<boolean> {
  if (incoming === undefined) return false;
  const { headers } = incoming;
  if (authenticator !== undefined) {
    const address = addressOf(incoming, { proxies });
    const verdict = await authenticator.authenticate({
      headers,
      address,
      auth: {},
    });
    return "principal" in verdict;
  }
  const signs = [headers["x-forwarded-for"], headers.forwarded, headers.via];
  return signs.every((sign) => sign === undefined) &&
    isLoopback(addressOf(incoming, { proxies: 0 }));
}
