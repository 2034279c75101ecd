/**
 * The Worker: decides where a request goes before an object sees it, by pure rules first, and which
 * options Durable Objects can keep.
 *
 * @module
 */
import { isOfficeName } from "../../protocol/names.ts";
import { checkHost, checkOrigin, isForDevices } from "../http/host_rule.ts";
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
import { type SignInOption, signInOption } from "../doors/sign_in.ts";
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
import type { ObjectNamespace, ObjectStorage, ObjectStub } from "./platform.ts";

/** Where a request goes. */
type Route =
  /** The object of this name that holds sessions. */
  | { readonly front: string }
  /** The home of an office, where its gateway is, if the credentials are valid for it; else the registry. */
  | { readonly office: string }
  /** The home of the office that the token of a sign-in names; else the registry. */
  | { readonly office: undefined }
  /** The object of this name beside those of offices. */
  | { readonly object: string }
  /** The Worker itself answers. */
  | { readonly answer: "health" | "ready" | "unknown session" }
  | { readonly refused: Refusal };

/** What decides about a request. */
export interface DoorRules extends ResolvedOptions {
  readonly fronts: number;
}

/** What the paths begin with that objects have for each other; clients must not reach them. */
const OWN_PATHS = "/.smcp/";

/** The path by which objects connect with each other. */
export const LINK_PATH = `${OWN_PATHS}link`;

/** The path by which objects ask for what sign-in keeps, and learn of its ends. */
export const SIGN_IN_PATH = `${OWN_PATHS}sign-in`;

/** The path of the metrics of one object. */
export const METRICS_PATH = `${OWN_PATHS}metrics`;

/** The continents as Cloudflare names them, and one for requests of unknown origin. */
const CONTINENTS = ["af", "an", "as", "eu", "na", "oc", "sa", "xx"];

/** Names a front: their number is bounded, so that clients cannot make objects at will. */
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
export function routeRequest(
  { url, method, headers }: Pick<Request, "url" | "method" | "headers">,
  continent: string | undefined,
  rules: DoorRules,
  random: number,
): Route {
  const { path, query } = splitTarget(url);
  const host = headers.get("Host") ?? undefined;
  const asked = { host, target: url, localAddress: undefined };
  const isOfDevices = rules.approvals !== undefined && OF_DEVICES.test(path);
  if (isOfDevices && rules.approvalsHost !== undefined) {
    return isForDevices(host, rules.approvalsHost)
      ? { object: REGISTRY }
      : { refused: notFound() };
  }
  const refused = checkHost(asked, rules);
  if (refused) return { refused };
  if (path.startsWith(OWN_PATHS)) return { refused: notFound() };
  const isForPages = path === "/health" || rules.paths.includes(path);
  if (isForPages && method === "OPTIONS") {
    // The preflight of a page: any front answers, for any version.
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
  if (OPERATED.test(path) || isOfDevices) return { object: REGISTRY };
  if (rules.gateway?.signIn) {
    if (OF_SIGN_IN.test(path)) return { object: REGISTRY };
    if (BARE.test(path)) return { office: undefined };
  }
  const office = rules.gateway && officeIn(path);
  return office === undefined ? { refused: notFound() } : { office };
}

/** The paths of operators. */
const OPERATED = /^\/(?:operator\/v1|console|metrics)(?:\/|$)/;

/** The paths of persons' devices. The registry knows which offices there are, so that a made-up name wakes none. */
const OF_DEVICES = /^\/approve(?:\/|$)/;

/** The paths of a sign-in, with those of its metadata, also below a gateway. */
const OF_SIGN_IN =
  /^\/(?:authorize(?:\/callback)?|token|register|revoke)$|\/\.well-known\//;

/** The path of a gateway without an office. */
const BARE = /^\/[^/]+\/?$/;

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
    "cluster" | "trustedProxies" | "metrics" | "limits" | "signIn"
  > {
  /**
   * Overrides the defaults of `Limits`; `false` removes all count and rate limits. Each object counts for
   * itself: an address may have `connectionsPerAddress` sessions at each front of its continent.
   */
  limits?: false | Partial<Omit<Limits, "unfinishedBytes" | "queuedBytes">>;
  /**
   * Lets people sign in to the gateway, in a browser, for programs that take a URL and no key: `signIn()` of
   * `@a2c-smcp/sdk/server/workers/sign-in`. It needs `publicUrl`.
   */
  signIn?: WorkerSignIn;
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

/** A sign-in for objects, made by `signIn()`. */
export interface WorkerSignIn {
  /**
   * Opens a token by the secret alone.
   *
   * @returns the office that it is good for now; `undefined` for what is no token of a sign-in
   */
  officeOf(token: string): Promise<string | undefined> | undefined;
  /** Makes the sign-in of an object. */
  at(place: SignInPlace): ObjectSignIn;
}

/** What an object gives its sign-in: where it keeps all for the others, or how it asks the one that does. */
export type SignInPlace =
  | {
    readonly storage: ObjectStorage;
    /** Sends a message to the other objects. */
    notify(message: unknown): void;
  }
  | { ask(message: unknown): Promise<Response> };

/** The sign-in of an object. */
export interface ObjectSignIn {
  /** The option of its server. */
  readonly option: SignInOption;
  /** Answers another object. */
  answer(request: Request): Promise<Response>;
  /** Asks again for what is open: the message of its end may be lost. */
  recheck(): void;
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
  trustedProxies: "the platform sends the address of the client",
  "limits.queuedBytes": "the platform does not show how much is queued",
};

/** What a message has between objects besides what a client has sent. */
const ENVELOPE_BYTES = 64 * 1024;

/** The options of this entry alone. */
type ObjectOptions = Required<Pick<SmcpWorkerOptions, "fronts" | "single">>;

const DEFAULT_FRONTS = 4;
const MAX_FRONTS = 100;

/**
 * Checks options, and fills in those of this entry alone.
 *
 * @throws {TypeError} naming what cannot be used, and the remedy
 */
export function checkWorkerOptions(options: SmcpWorkerOptions): ObjectOptions {
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
      "Cannot serve the internet without authentication, since anyone could use the tools of every Computer: set authenticator, such as apiKeys(parseApiKeys(env.SMCP_KEYS)), or insecure: true for a try",
    );
  }
  if (options.signIn && options.gateway && options.publicUrl === undefined) {
    throw new TypeError(
      "Cannot use signIn without its URL, which is never taken from a request: set publicUrl to the https:// URL of this Worker",
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
export type CheckedOptions = SmcpWorkerOptions & ObjectOptions;

/** @throws {TypeError} naming what cannot be used */
export const resolveWorkerOptions = (
  { metrics: _, signIn, ...options }: SmcpWorkerOptions,
): ResolvedOptions =>
  resolveOptions(
    {
      ...options,
      ...(signIn && { signIn: ELSEWHERE }),
    } as SmcpServerOptions,
  );

/** The sign-in of a Worker is in its objects. */
const NOT_HERE = () => {
  throw new Error("A Worker has no sign-in of its own");
};
const ELSEWHERE = signInOption({ newHost: NOT_HERE, start: NOT_HERE });

/** Returns the stub of an object. */
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

/** Returns the continent that Cloudflare reports for a request. */
const continentOf = (request: Request): string | undefined => {
  const { cf }: { cf?: { continent?: unknown } } = Object(request);
  return typeof cf?.continent === "string" ? cf.continent : undefined;
};

/** Answers the requests of the Worker: itself, or by the object that they go to. */
export class Door {
  readonly #env: object;
  readonly #rules: DoorRules;
  readonly #isSingle: boolean;
  readonly #signIn: WorkerSignIn | undefined;
  readonly #limiter: Limiter;

  constructor(env: object, { single, ...options }: CheckedOptions) {
    logToConsole();
    this.#env = env;
    this.#isSingle = single;
    this.#signIn = options.signIn;
    this.#rules = { ...resolveWorkerOptions(options), fronts: options.fronts };
    this.#limiter = new Limiter(this.#rules.limits, undefined, new Journal());
  }

  /** Answers a request. */
  async answer(request: Request): Promise<Response> {
    const continent = continentOf(request);
    const route = routeRequest(request, continent, this.#rules, Math.random());
    if ("refused" in route) return this.#refuse(route.refused, request);
    if ("answer" in route && route.answer !== "unknown session") {
      return this.#allow(request, this.#describe(route.answer));
    }
    if (this.#isSingle) return await this.#pass(request, "OFFICE", SINGLE);
    if ("answer" in route) return this.#allow(request, unknownSession());
    if ("front" in route) {
      return await this.#pass(request, "FRONT", route.front);
    }
    const object = "object" in route
      ? route.object
      : await this.#findHome(route.office, request);
    return await this.#pass(request, "OFFICE", object);
  }

  /** Lets pages of allowed origins read an answer. */
  #allow(request: Request, response: Response): Response {
    const { origins } = this.#rules;
    const origin = request.headers.get("Origin");
    if (origin === null || origins !== "*" && !origins.includes(origin)) {
      return response;
    }
    const { headers } = response;
    headers.set("Access-Control-Allow-Origin", origins === "*" ? "*" : origin);
    headers.set("Access-Control-Expose-Headers", ERROR_CODE_HEADER);
    if (origins !== "*") headers.append("Vary", "Origin");
    return response;
  }

  async #pass(
    request: Request,
    binding: "FRONT" | "OFFICE",
    object: string,
  ): Promise<Response> {
    const stub = stubOf(this.#env, binding, object);
    try {
      return await stub.fetch(request);
    } catch (error) {
      // It was replaced by a deploy, moved, or has too much to do.
      const details = { object, ...failure(error) };
      log.warn("The object {object} did not answer", details);
      const refused = refusal(503, unreachable().toPayload());
      return this.#allow(request, toResponse(refused));
    }
  }

  /**
   * Finds the object for an office; without valid credentials none is made, and the registry refuses.
   *
   * @param office `undefined` where a token of the sign-in names it
   */
  async #findHome(
    office: string | undefined,
    request: Request,
  ): Promise<string> {
    const { authenticator } = this.#rules;
    if (office === "") return REGISTRY;
    const headers = Object.fromEntries(request.headers);
    const token = bearerToken(headers.authorization);
    const opened = token && this.#signIn?.officeOf(token);
    if (opened) {
      const named = await opened;
      const isOwn = named !== undefined && (office ?? named) === named;
      return isOwn ? homeOf(named) : REGISTRY;
    }
    if (office === undefined) return REGISTRY;
    if (authenticator === undefined) {
      return this.#signIn ? REGISTRY : homeOf(office);
    }
    const verdict = await authenticator.authenticate({
      headers,
      auth: token === undefined ? {} : { token },
      address: addressOf(request),
    });
    const mayUse = "principal" in verdict &&
      checkGatewayUse(verdict, office, Date.now()) === undefined;
    return mayUse ? homeOf(office) : REGISTRY;
  }

  #describe(path: "health" | "ready"): Response {
    if (path === "ready") return Response.json({ status: "ready" });
    const versions = this.#rules.profiles.map(({ version }) => version);
    return Response.json({
      status: "ok",
      protocol_version: versions.at(-1),
      ...(versions.length > 1 && { protocol_versions: versions }),
    });
  }

  #refuse(refused: Refusal, request: Request): Response {
    const { code, message: reason }: ErrorPayload = JSON.parse(refused.body);
    const address = addressOf(request);
    this.#limiter.recordRefusedHandshake("http", { code, reason, address });
    return this.#allow(request, toResponse(refused));
  }
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
