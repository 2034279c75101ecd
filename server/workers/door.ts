/**
 * The Worker: decides where a request goes before an object sees it, by pure rules first, and which
 * options Durable Objects can keep.
 *
 * @module
 */
import { isOfficeName } from "../../protocol/names.ts";
import { checkHost, checkOrigin } from "../http/host_rule.ts";
import { judgeQuery } from "../http/gate.ts";
import {
  type ResolvedOptions,
  resolveOptions,
  type SmcpServerOptions,
} from "../options.ts";
import {
  notFound,
  type Refusal,
  refusal,
  sessionOf,
  splitTarget,
  toResponse,
} from "../shared/http.ts";
import { homeOf, MAX_WEBSOCKET_BYTES, REGISTRY } from "./object_node.ts";
import {
  checkKept,
  FETCH_SERVER_NAMES,
  type FetchServerOptions,
  NOT_KEPT as BY_FETCH,
} from "../fetch/fetch_server.ts";
import type { Limits } from "../limits/limits.ts";
import type { Metrics } from "../observe/metrics.ts";
import { configureSync, getConfig } from "@logtape/logtape";
import { ERROR_CODE_HEADER, type ErrorPayload } from "../../protocol/mod.ts";
import { bearerToken } from "../../shared/authorization.ts";
import { checkNames, type NamesOf } from "../../shared/checks.ts";
import { unreachable } from "../cluster/cluster_offices.ts";
import { Limiter } from "../limits/limiter.ts";
import { Journal } from "../shared/audit.ts";
import { checkGatewayUse } from "../shared/identity.ts";
import { failure, jsonLine, log } from "../shared/log.ts";
import type { ObjectNamespace, ObjectStub } from "./platform.ts";

/** Where a request goes. */
type Way =
  /** The object of this name that holds sessions. */
  | { readonly front: string }
  /** The home of an office, where its gateway sits, if the credentials are good for it; else the registry. */
  | { readonly office: string }
  /** The object of this name beside those of offices. */
  | { readonly object: string }
  /** The Worker itself answers. */
  | { readonly answer: "health" | "ready" | "unknown session" }
  | { readonly refused: Refusal };

/** What decides about a request. */
export interface DoorRules extends
  Pick<
    ResolvedOptions,
    | "paths"
    | "hosts"
    | "publicUrl"
    | "proxies"
    | "origins"
    | "profiles"
    | "gateway"
  > {
  readonly fronts: number;
}

/** What the paths begin with that objects have for each other; clients must not reach them. */
const OWN_PATHS = "/.smcp/";

/** The path by which objects connect with each other. */
export const LINK_PATH = `${OWN_PATHS}link`;

/** The path of the metrics of one object. */
export const METRICS_PATH = `${OWN_PATHS}metrics`;

/** The continents as Cloudflare names them, and one for requests that come from nowhere. */
const CONTINENTS = ["af", "an", "as", "eu", "na", "oc", "sa", "xx"];

/** Names a front: there is a bounded number, so that nobody can make objects at will. */
const FRONT = /^([a-z]{2})-(0|[1-9]\d?)$/;

/** Returns the name of one of the fronts of a continent. */
export function frontOf(
  continent: string | undefined,
  fronts: number,
  random: number,
): string {
  const known = continent?.toLowerCase() ?? "";
  const place = CONTINENTS.includes(known) ? known : "xx";
  return `${place}-${Math.floor(random * fronts)}`;
}

/** Returns the front that the id of a session names, if there is such a front. */
export function frontOfSession(
  sid: string,
  fronts: number,
): string | undefined {
  const name = sid.slice(0, Math.max(0, sid.lastIndexOf(".")));
  const [, place = "", number] = FRONT.exec(name) ?? [];
  const exists = CONTINENTS.includes(place) && Number(number) < fronts;
  return exists ? name : undefined;
}

/**
 * Decides where a request goes, by what can be decided without an object; the objects check it again, in
 * the same order (protocol §2, §10).
 *
 * @param random from 0 to 1
 */
export function wayOf(
  { url, method, headers }: Pick<Request, "url" | "method" | "headers">,
  continent: string | undefined,
  rules: DoorRules,
  random: number,
): Way {
  const { path, query } = splitTarget(url);
  const host = headers.get("Host") ?? undefined;
  const asked = { host, target: url, localAddress: undefined };
  const refused = checkHost(asked, rules);
  if (refused) return { refused };
  if (path.startsWith(OWN_PATHS)) return { refused: notFound() };
  const isForPages = path === "/health" || rules.paths.includes(path);
  if (isForPages && method === "OPTIONS") {
    // A page asks whether it may ask: any front answers, whatever the version.
    return { front: frontOf(continent, rules.fronts, random) };
  }
  if (path === "/health") return { answer: "health" };
  if (path === "/ready") return { answer: "ready" };
  if (rules.paths.includes(path)) {
    const origin = headers.get("Origin") ?? undefined;
    const site = headers.get("Sec-Fetch-Site") ?? undefined;
    const refused = checkOrigin({ origin, site }, rules.origins) ??
      judgeQuery(query, false, rules.profiles);
    if (refused) return { refused };
    const sid = sessionOf(query);
    const front = sid
      ? frontOfSession(sid, rules.fronts)
      : frontOf(continent, rules.fronts, random);
    return front === undefined ? { answer: "unknown session" } : { front };
  }
  if (OPERATED.test(path)) return { object: REGISTRY };
  const office = rules.gateway && officeIn(path);
  return office === undefined ? { refused: notFound() } : { office };
}

/** The paths of operators. */
const OPERATED = /^\/(?:operator\/v1|console|metrics)(?:\/|$)/;

/** The path of an office at a gateway, or of what protects it (RFC 9728). */
const AT_GATEWAY =
  /^(\/\.well-known\/oauth-protected-resource)?\/[^/]+\/([^/]+)$/;

/** Returns the office in the path of a gateway; empty for one of which only the rules are asked. */
function officeIn(path: string): string | undefined {
  const [, about, name] = AT_GATEWAY.exec(path) ?? [];
  if (name === undefined) return undefined;
  if (about !== undefined) return "";
  try {
    const office = decodeURIComponent(name);
    return isOfficeName(office) ? office : "";
  } catch {
    return "";
  }
}

/** Options for `smcpWorker()`: those of `createSmcpServer()` that Durable Objects can keep, and two more. */
export interface SmcpWorkerOptions extends
  Omit<
    FetchServerOptions,
    "cluster" | "trustedProxies" | "metrics" | "limits"
  > {
  /**
   * Overrides the defaults of `Limits`; `false` removes all count and rate limits. Each object counts for
   * itself: an address may have `connectionsPerAddress` sessions at each front of its continent.
   */
  limits?: false | Partial<Omit<Limits, "unfinishedBytes" | "queuedBytes">>;
  /** Makes what collects the metrics of one object: `createMetrics`; default none. */
  metrics?: () => Metrics;
  /** The number of objects for each continent that hold sessions, 1 to 100; default 4. */
  fronts?: number;
  /**
   * Whether one object is all: the home of all offices, with all sessions. Default `false`. It serves some
   * hundred members, and calls take one hop less; one thread is all that it has.
   */
  single?: boolean;
}

/** The names of {@linkcode SmcpWorkerOptions}, and those that {@linkcode checkKept} refuses with a reason. */
const WORKER_NAMES = {
  ...FETCH_SERVER_NAMES,
  fronts: true,
  single: true,
} satisfies NamesOf<SmcpWorkerOptions>;

/** What of the options of `createSmcpServer()` cannot be kept, and why. */
const NOT_KEPT = {
  ...BY_FETCH,
  cluster: "its objects are one already",
  trustedProxies: "the platform says who the client is",
  "limits.queuedBytes": "the platform does not say what it has queued",
};

/** What a message has between objects besides what a client has sent. */
const ENVELOPE_BYTES = 64 * 1024;

const DEFAULT_FRONTS = 4;
const MAX_FRONTS = 100;

/**
 * Checks options, and fills in those of this entry alone.
 *
 * @throws {TypeError} naming what cannot be used, and the remedy
 */
export function checkWorkerOptions(options: SmcpWorkerOptions) {
  checkKept(options, NOT_KEPT, "serve on Cloudflare", "leave it out");
  checkNames(options, WORKER_NAMES, "smcpWorker()");
  const { fronts = DEFAULT_FRONTS, single = false } = options;
  if (!Number.isInteger(fronts) || fronts < 1 || fronts > MAX_FRONTS) {
    throw new TypeError(
      `Cannot use ${fronts} fronts: expected a whole number from 1 to ${MAX_FRONTS}`,
    );
  }
  const max = MAX_WEBSOCKET_BYTES - ENVELOPE_BYTES;
  if ((options.maxMessageBytes ?? 0) > max) {
    throw new TypeError(
      `Cannot use maxMessageBytes of ${options.maxMessageBytes}: a WebSocket of Cloudflare carries at most ${max} bytes of a client`,
    );
  }
  if (options.authenticator === undefined && options.insecure !== true) {
    throw new TypeError(
      "Cannot serve the internet without authentication, anybody could use the tools of every computer: set authenticator, such as apiKeys(parseApiKeys(env.SMCP_KEYS)), or insecure: true for a try",
    );
  }
  return { fronts, single };
}

/** The one object where one is all. */
const SINGLE = "single";

/** Returns the address of the client, which Cloudflare puts in the place of what a client sends. */
export const addressOf = (request: Request): string =>
  request.headers.get("CF-Connecting-IP") ?? "";

/** The options with those of this entry filled in. */
export type CheckedOptions =
  & SmcpWorkerOptions
  & ReturnType<typeof checkWorkerOptions>;

/** @throws {TypeError} naming what cannot be used */
export const resolveWorkerOptions = (
  { metrics: _, ...options }: SmcpWorkerOptions,
): ResolvedOptions => resolveOptions(options as SmcpServerOptions);

/** Returns the way to an object. */
export function stubOf(
  env: object,
  binding: "FRONT" | "OFFICE",
  name: string,
): ObjectStub {
  const namespace: unknown = Reflect.get(env, binding);
  if (!isNamespace(namespace)) {
    throw new TypeError(
      `Cannot serve without the binding ${binding}: wrangler.jsonc lacks it in durable_objects.bindings, see examples/cloudflare`,
    );
  }
  return namespace.get(namespace.idFromName(name));
}

const isNamespace = (value: unknown): value is ObjectNamespace =>
  value instanceof Object && "idFromName" in value && "get" in value;

/** The headers by which Cloudflare says where a request comes from. */
const continentOf = (request: Request): string | undefined => {
  const { cf }: { cf?: { continent?: unknown } } = Object(request);
  return typeof cf?.continent === "string" ? cf.continent : undefined;
};

/** Returns what answers requests: by itself, or by the object that they go to. */
export function newDoor(
  env: object,
  { single, ...options }: CheckedOptions,
): (request: Request) => Promise<Response> {
  logToConsole();
  const all = { ...resolveWorkerOptions(options), fronts: options.fronts };
  const { authenticator, origins, profiles } = all;
  const limiter = new Limiter(all.limits, undefined, new Journal());

  /** Lets pages of allowed origins read an answer. */
  const allow = (request: Request, response: Response): Response => {
    const origin = request.headers.get("Origin");
    if (origin === null || origins !== "*" && !origins.includes(origin)) {
      return response;
    }
    const { headers } = response;
    headers.set("Access-Control-Allow-Origin", origins === "*" ? "*" : origin);
    headers.set("Access-Control-Expose-Headers", ERROR_CODE_HEADER);
    if (origins !== "*") headers.append("Vary", "Origin");
    return response;
  };

  const pass = async (
    request: Request,
    binding: "FRONT" | "OFFICE",
    object: string,
  ): Promise<Response> => {
    const stub = stubOf(env, binding, object);
    try {
      return await stub.fetch(request);
    } catch (error) {
      // It was replaced by a deploy, moved, or has too much to do.
      const what = { object, ...failure(error) };
      log.warn("The object {object} did not answer", what);
      const refused = refusal(503, unreachable().toPayload());
      return allow(request, toResponse(refused));
    }
  };

  /** Nobody without good credentials makes the object of an office: the registry refuses them. */
  const findHome = async (office: string, request: Request) => {
    if (office === "") return REGISTRY;
    if (authenticator === undefined) return homeOf(office);
    const headers = Object.fromEntries(request.headers);
    const token = bearerToken(headers.authorization);
    const auth = token === undefined ? {} : { token };
    const address = addressOf(request);
    const verdict = await authenticator.authenticate({
      headers,
      auth,
      address,
    });
    const mayUse = "principal" in verdict &&
      checkGatewayUse(verdict, office, Date.now()) === undefined;
    return mayUse ? homeOf(office) : REGISTRY;
  };

  const describe = (what: "health" | "ready"): Response => {
    if (what === "ready") return Response.json({ status: "ready" });
    const versions = profiles.map(({ version }) => version);
    return Response.json({
      status: "ok",
      protocol_version: versions.at(-1),
      ...(versions.length > 1 && { protocol_versions: versions }),
    });
  };

  const refuse = (refused: Refusal, request: Request): Response => {
    const { code, message: reason }: ErrorPayload = JSON.parse(refused.body);
    const address = addressOf(request);
    limiter.recordRefusedHandshake("http", { code, reason, address });
    return allow(request, toResponse(refused));
  };

  return async (request) => {
    const way = wayOf(request, continentOf(request), all, Math.random());
    if ("refused" in way) return refuse(way.refused, request);
    if ("answer" in way && way.answer !== "unknown session") {
      return allow(request, describe(way.answer));
    }
    if (single) return await pass(request, "OFFICE", SINGLE);
    if ("answer" in way) return allow(request, unknownSession());
    if ("front" in way) return await pass(request, "FRONT", way.front);
    const object = "object" in way
      ? way.object
      : await findHome(way.office, request);
    return await pass(request, "OFFICE", object);
  };
}

/** The answer of Engine.IO, at which clients connect again. */
const unknownSession = (): Response =>
  Response.json({ code: 1, message: "Session ID unknown" }, { status: 400 });

/** Writes the log and the audit log as JSON for Workers Logs, unless the program has set LogTape up. */
export function logToConsole(): void {
  if (getConfig() !== null) return;
  const sinks = ["console"];
  configureSync({
    sinks: { console: (record) => console.log(jsonLine(record).trimEnd()) },
    loggers: [
      { category: ["a2c-smcp"], lowestLevel: "info", sinks },
      { category: ["logtape", "meta"], lowestLevel: "warning", sinks },
    ],
  });
}
