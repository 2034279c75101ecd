/**
 * The HTTP side of the operator API: each request is admitted, counted, and answered with JSON, a stream
 * or a problem; the console's page is beside it.
 *
 * @module
 */
import * as z from "../../protocol/schema.ts";
import type { Context, Hono } from "hono";
import { answerConsole, SERVER_PAGE } from "../../console/mod.ts";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import type { Refused } from "../auth/authenticator.ts";
import { OpenExchanges } from "../doors/expiry.ts";
import { judgeHost, provenanceOf, type RequestParts } from "../http/gate.ts";
import { closed } from "../http/closing.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import { addressOf } from "../limits/limits.ts";
import { type ApiParts, invalid, type Operator, OperatorApi } from "./api.ts";
import { acceptsGzip, EventFeed } from "./event_feed.ts";
import { EventTap, Recorder } from "./event_pages.ts";
import {
  BASE_PATH,
  EVENTS_PATH,
  openApi,
  OPENAPI_PATH,
  type Operation,
  OPERATIONS,
} from "./operations.ts";
import { followNodes, NO_OTHERS } from "./nodes.ts";
import {
  type Exchange,
  type Incoming,
  notFound,
  type RequestHead,
  toResponse,
} from "../shared/http.ts";
import {
  type Identity,
  mayOperate,
  seesAll,
  seesOffice,
} from "../shared/identity.ts";
import { failure, log, quote } from "../shared/log.ts";
import {
  bearerToken,
  isOwnPage,
  isSameToken,
} from "../../shared/authorization.ts";
import {
  ProblemError,
  problemOf,
  readJson,
  retryLater,
  toProblemResponse,
} from "../../shared/http.ts";

/** How long a stream that has ended may take to be read. */
const END_TIMEOUT_MS = 1000;

/** The parts of a server that {@linkcode OperatorRoutes} needs. */
interface OperatorParts
  extends OperatorAdmission, Omit<ApiParts, "others" | "feed" | "tap"> {}

/** What answers an admitted request. */
type Answer = (
  c: Context<SmcpEnv>,
  operator: AdmittedOperator,
  exchange: Exchange,
) => unknown;

/** The HTTP requests of operators. While nobody can be one, they get what any unknown path gets. */
export class OperatorRoutes {
  readonly #parts: OperatorParts;
  readonly #api: OperatorApi;
  readonly #feed: EventFeed;
  readonly #tap: EventTap;
  readonly #open: OpenExchanges;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
    const others = parts.cluster?.others ?? NO_OTHERS;
    const recorder = new Recorder(parts.journal);
    const feed = this.#feed = new EventFeed(recorder, followNodes(others));
    const tap = this.#tap = new EventTap(recorder);
    this.#api = new OperatorApi({
      ...parts,
      ...{ others, feed, tap },
      recheck: async () => {
        await parts.recheck();
        await this.recheck();
      },
    });
    this.#open = new OpenExchanges(parts);
  }

  /** Adds the routes to an app. */
  mount(app: Hono<SmcpEnv>): void {
    mountConsole(app, this.#parts);
    const add = (method: string, path: string, answer: Answer) =>
      app.on(
        method.toUpperCase(),
        BASE_PATH + path,
        (c) => this.#answer(c, answer),
      );
    for (const operation of OPERATIONS) {
      add(
        operation.method,
        operation.path.replaceAll(/\{(\w+)\}/g, ":$1"),
        (...call) => this.#run(operation, ...call),
      );
    }
    add("get", EVENTS_PATH, (...call) => this.#stream(...call));
    add("get", OPENAPI_PATH, () => openApi(this.#parts.version));
    for (const path of [BASE_PATH, `${BASE_PATH}/*`]) {
      app.all(path, (c) =>
        this.#answer(c, () => {
          throw problemOf(
            404,
            "path",
            "there is no such operation",
            `take one of ${BASE_PATH}${OPENAPI_PATH}`,
          );
        }));
    }
  }

  /** Ends the streams of those whose credentials are not valid any more. */
  recheck(): Promise<void> {
    return this.#open.recheck();
  }

  /** Ends all streams. */
  close(): void {
    this.#tap.close();
    this.#feed.close();
  }

  async #answer(c: Context<SmcpEnv>, answer: Answer): Promise<Response> {
    const { incoming, outgoing }: Partial<Exchange> = c.env ?? {};
    if (!isOn(this.#parts) || incoming === undefined || !outgoing) {
      incoming?.resume(); // an unread body would hold the connection open
      return toResponse(notFound());
    }
    let response: Response;
    try {
      const operator = await admitOperator(incoming, this.#parts);
      const { by, address } = operator;
      const excess = this.#open.count(outgoing, address, by);
      if (excess) throw tooMany(excess);
      const result = await answer(c, operator, { incoming, outgoing });
      response = result instanceof Response ? result : Response.json(result);
    } catch (error) {
      incoming.resume();
      response = toProblemResponse(toProblem(error));
    }
    response.headers.set("Cache-Control", "no-store");
    response.headers.set("X-Content-Type-Options", "nosniff");
    return response;
  }

  #run(
    { run, isLong }: Operation,
    c: Context<SmcpEnv>,
    operator: AdmittedOperator,
    { incoming, outgoing }: Exchange,
  ): unknown {
    const api = this.#api;
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    if (isLong) this.#open.add(outgoing, operator.identity);
    return run({
      operator,
      api,
      signal: gone.signal,
      param: (name) => c.req.param(name) ?? "",
      body: (schema, size = "small") =>
        readBody(
          incoming,
          schema,
          size === "small" ? MAX_BODY_BYTES : this.#parts.maxMessageBytes,
        ),
    });
  }

  #stream(
    c: Context<SmcpEnv>,
    { policy, identity }: AdmittedOperator,
    { outgoing }: Exchange,
  ): Response {
    if (this.#feed.isFull) {
      throw new ProblemError(
        503,
        [{
          field: "events",
          problem:
            "there are as many streams as can be, or the Server is shutting down",
          fix: "close one, or try again later",
        }],
        { "Retry-After": "5" },
      );
    }
    const isPacked = acceptsGzip(c.req.header("accept-encoding"));
    const only = c.req.query("office");
    this.#open.add(outgoing, identity);
    const reader = this.#feed.open(
      {
        key: JSON.stringify([policy.offices, only]),
        sees: (office) =>
          office === undefined
            ? only === undefined && seesAll(policy)
            : (only ?? office) === office && seesOffice(policy, office),
      },
      c.req.header("last-event-id"),
      isPacked,
      // One that does not read its end is cut off.
      (isUnread) => {
        if (isUnread) void closed([outgoing], END_TIMEOUT_MS);
      },
    );
    // That of a HEAD request is never read.
    outgoing.once("close", () => reader.leave());
    return new Response(reader.stream, {
      headers: {
        "Content-Type": "text/event-stream",
        ...(isPacked && { "Content-Encoding": "gzip" }),
        Vary: "Accept-Encoding",
        "X-Accel-Buffering": "no", // for nginx
      },
    });
  }
}

/** Converts whatever a request has thrown. */
function toProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof ProtocolError) { // of the cluster
    return retryLater("server", error.message);
  }
  log.error("The operator API failed", failure(error));
  return problemOf(
    500,
    "server",
    "it failed, and its log says why",
    "tell its administrator",
  );
}

const tooMany = ({ message }: ProtocolError): ProblemError =>
  new ProblemError(
    429,
    [{ field: "request", problem: message, fix: "wait a second" }],
    { "Retry-After": "1" },
  );

/** Where the page is. */
const CONSOLE_PATH = "/console";

/**
 * Adds the console's page and its parts to an app. They hold no data, and so need no token; while nobody
 * can be an operator, they are not there.
 */
function mountConsole(
  app: Hono<SmcpEnv>,
  parts: OperatorAdmission,
): void {
  const answer = (c: Context<SmcpEnv>, part?: string): Response => {
    const { incoming }: Partial<Exchange> = c.env ?? {};
    incoming?.resume(); // an unread body would hold the connection open
    if (!isOn(parts) || incoming === undefined) return toResponse(notFound());
    try {
      checkName(incoming, parts);
    } catch (error) {
      if (error instanceof ProblemError) return toProblemResponse(error);
      throw error;
    }
    if (part === "") { // relative: a proxy may have put it somewhere else
      return new Response(null, {
        status: 308,
        headers: { Location: "../console" },
      });
    }
    return answerConsole(SERVER_PAGE, {
      method: c.req.method,
      ...(part !== undefined && { part }),
      ifNoneMatch: incoming.headers["if-none-match"],
    });
  };
  app.all(CONSOLE_PATH, (c) => answer(c));
  app.all(
    `${CONSOLE_PATH}/*`,
    (c) => answer(c, c.req.path.slice(CONSOLE_PATH.length + 1)),
  );
}

/** The largest body of most changes, in bytes. */
const MAX_BODY_BYTES = 16_384;

/**
 * Reads the body of a change, which must be JSON.
 *
 * @param maxBytes the largest one
 * @throws {ProblemError} 400, 413, 415
 */
async function readBody<S extends z.ZodMiniType>(
  incoming: Incoming,
  schema: S,
  maxBytes: number,
): Promise<z.output<S>> {
  const data = await readJson(incoming, maxBytes);
  const result = schema.safeParse(data, z.ENGLISH);
  if (result.success) return result.data;
  throw invalid(result.error, "body");
}

/** The parts of a server that {@linkcode admitOperator} needs. */
interface OperatorAdmission extends RequestParts {
  /** The token of an operator of all offices, besides. */
  readonly token: string | undefined;
}

/** Who shows the token of the server's own. */
const OWN: Identity = {
  principal: "operator",
  policy: { roles: ["operator"] },
};

/** An operator, and from where it asks. */
interface AdmittedOperator extends Operator {
  /** With what it came. */
  readonly identity: Identity;
  /** Its network address. */
  readonly address: string;
}

/** Returns whether anybody can be an operator; otherwise there is no API. */
const isOn = ({ token, authenticator }: OperatorAdmission): boolean =>
  token !== undefined || authenticator?.hasOperators?.() === true;

/**
 * Decides who sends a request, and whether it is an operator: by host, page and token, in this order. A
 * refusal is recorded, without the token.
 *
 * @throws {ProblemError} 401, 403
 */
async function admitOperator(
  incoming: RequestHead,
  parts: OperatorAdmission,
): Promise<AdmittedOperator> {
  const address = addressOf(incoming, parts);
  const record = (code: number, reason: string, principal?: string) =>
    parts.limiter.recordRefusedHandshake("http", {
      ...{ code, reason, address },
      ...(principal !== undefined && { principal }),
    });
  checkName(incoming, parts);
  const page = provenanceOf(incoming);
  if (!isOwnPage(page, incoming.headers.host)) {
    const from = quote(page.origin ?? page.site ?? "");
    record(ErrorCode.FORBIDDEN, `Origin not allowed for operators (${from})`);
    throw problemOf(
      403,
      "Origin",
      "pages of other sites may not operate",
      "ask from no page, or from one of this Server",
    );
  }
  const identity = await identityOf(incoming, address, parts);
  if ("refused" in identity) {
    record(ErrorCode.UNAUTHORIZED, `operator: ${identity.refused}`);
    throw new ProblemError(
      401,
      [{
        field: "Authorization",
        problem: identity.shown ?? "it has no token that counts here",
        fix:
          "send Authorization: Bearer and an operator's API key, JWT, or the token that the Server printed",
      }],
      { "WWW-Authenticate": 'Bearer realm="operator"' },
    );
  }
  const { policy, principal } = identity;
  if (policy === undefined || !mayOperate(policy)) {
    record(ErrorCode.FORBIDDEN, "Not allowed to operate", principal);
    throw problemOf(
      403,
      "Authorization",
      "its holder is no operator",
      'add "operator" to the roles of the key, or to the claim role of the token',
    );
  }
  return { by: principal, policy, identity, address };
}

/**
 * Checks that a request asks for a name of this server.
 *
 * @throws {ProblemError} 403
 */
export function checkName(
  incoming: RequestHead,
  parts: RequestParts,
): void {
  if (judgeHost(incoming, parts)) {
    throw problemOf(
      403,
      "Host",
      "this Server has not that name",
      "use a name of it; its administrator names more with --hosts",
    );
  }
}

async function identityOf(
  { headers: { authorization } }: RequestHead,
  address: string,
  { authenticator, token }: OperatorAdmission,
): Promise<Identity | Refused> {
  const sent = bearerToken(authorization);
  if (sent === undefined) return { refused: "no token" };
  if (token !== undefined && isSameToken(sent, token)) return OWN;
  if (authenticator === undefined) return { refused: "unknown token" };
  // Of all headers and cookies only this one counts: pages of other sites cannot make a browser send it.
  return await authenticator.authenticate({
    headers: { authorization },
    auth: { token: sent },
    address,
  });
}
