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
import {
  type ApiParts,
  invalid,
  newOperatorApi,
  type Operator,
} from "./api.ts";
import { acceptsGzip, newEventFeed } from "./event_feed.ts";
import { newEventTap, newRecorder } from "./event_pages.ts";
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
  isEncoded,
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

/** The parts of a server that {@linkcode newOperatorRoutes} needs. */
interface OperatorParts
  extends OperatorAdmission, Omit<ApiParts, "others" | "feed" | "tap"> {}

/** What answers an admitted request. */
type Answer = (
  c: Context<SmcpEnv>,
  operator: Operator,
  exchange: Exchange,
) => unknown;

/** Makes the HTTP requests of operators. While nobody can be one, they get what any unknown path gets. */
export function newOperatorRoutes(parts: OperatorParts) {
  const others = parts.cluster?.others ?? NO_OTHERS;
  const recorder = newRecorder(parts.journal);
  const feed = newEventFeed(recorder, followNodes(others));
  const tap = newEventTap(recorder);
  const api = newOperatorApi({ ...parts, others, feed, tap });
  const open = new OpenExchanges(parts);

  const respond = async (c: Context<SmcpEnv>, answer: Answer) => {
    const { incoming, outgoing }: Partial<Exchange> = c.env ?? {};
    if (!isOn(parts) || incoming === undefined || !outgoing) {
      incoming?.resume(); // an unread body would hold the connection open
      return toResponse(notFound());
    }
    let response: Response;
    try {
      const operator = await admitOperator(incoming, parts);
      const address = addressOf(incoming, parts);
      const excess = open.count(outgoing, address, operator.principal);
      if (excess) {
        throw new ProblemError(
          429,
          [{ field: "request", problem: excess.message, fix: "wait a second" }],
          { "Retry-After": "1" },
        );
      }
      if (!isEncoded(c.req.url)) {
        throw problemOf(
          400,
          "URL",
          "a part of it is no percent-encoded UTF-8, as every name is",
          "encode each name with encodeURIComponent()",
        );
      }
      const result = await answer(c, operator, { incoming, outgoing });
      response = result instanceof Response ? result : Response.json(result);
    } catch (error) {
      incoming.resume();
      response = toProblemResponse(toProblem(error));
    }
    response.headers.set("Cache-Control", "no-store");
    response.headers.set("X-Content-Type-Options", "nosniff");
    return response;
  };

  const runs = ({ run, isLong }: Operation): Answer => (c, operator, on) => {
    const { incoming, outgoing } = on;
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    if (isLong) open.add(outgoing, operator);
    return run({
      operator,
      api,
      signal: gone.signal,
      param: (name) => c.req.param(name) ?? "",
      async body(schema, size) {
        const most = size === "message"
          ? parts.maxMessageBytes
          : MAX_BODY_BYTES;
        const data = await readJson(incoming, most);
        const result = schema.safeParse(data, z.ENGLISH);
        if (result.success) return result.data;
        throw invalid(result.error, "body");
      },
    });
  };

  const stream: Answer = (c, operator, { outgoing }) => {
    if (feed.isFull) {
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
    const { policy } = operator;
    const only = c.req.query("office");
    open.add(outgoing, operator);
    const reader = feed.open(
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
  };

  return {
    /** Adds the routes to an app. */
    mount(app: Hono<SmcpEnv>): void {
      mountConsole(app, parts);
      const add = (method: string, path: string, answer: Answer) =>
        app.on(method, BASE_PATH + path, (c) => respond(c, answer));
      for (const operation of OPERATIONS) {
        const path = operation.path.replaceAll(/\{(\w+)\}/g, ":$1");
        add(operation.method.toUpperCase(), path, runs(operation));
      }
      add("GET", EVENTS_PATH, stream);
      add("GET", OPENAPI_PATH, () => openApi(parts.version));
      for (const path of [BASE_PATH, `${BASE_PATH}/*`]) {
        app.all(path, (c) =>
          respond(c, () => {
            throw problemOf(
              404,
              "path",
              "there is no such operation",
              `take one of ${BASE_PATH}${OPENAPI_PATH}`,
            );
          }));
      }
    },
    /** Ends the streams of those whose credentials are not valid any more. */
    recheck: () => open.recheck(),
    /** Ends all streams. */
    close(): void {
      tap.close();
      feed.close();
    },
  };
}

/** The largest body of most changes, in bytes. */
const MAX_BODY_BYTES = 16_384;

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

/** Where the page is. */
const CONSOLE_PATH = "/console";

/**
 * Adds the console's page and its parts to an app. They hold no data, and so need no token; while nobody
 * can be an operator, they are not there.
 */
function mountConsole(app: Hono<SmcpEnv>, parts: OperatorAdmission): void {
  for (const path of [CONSOLE_PATH, `${CONSOLE_PATH}/*`]) {
    app.all(path, (c) => {
      const { incoming }: Partial<Exchange> = c.env ?? {};
      incoming?.resume(); // an unread body would hold the connection open
      if (!isOn(parts) || !incoming) return toResponse(notFound());
      const refused = nameProblem(incoming, parts);
      if (refused) return toProblemResponse(refused);
      if (c.req.path === `${CONSOLE_PATH}/`) {
        // Relative: a proxy may have put it somewhere else.
        const headers = { Location: "../console" };
        return new Response(null, { status: 308, headers });
      }
      return answerConsole(SERVER_PAGE, {
        method: c.req.method,
        ...(c.req.path !== CONSOLE_PATH &&
          { part: c.req.path.slice(CONSOLE_PATH.length + 1) }),
        ifNoneMatch: incoming.headers["if-none-match"],
      });
    });
  }
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
): Promise<Operator> {
  const address = addressOf(incoming, parts);
  const record = (code: number, reason: string, principal?: string) =>
    parts.limiter.recordRefusedHandshake("http", {
      code,
      reason,
      address,
      ...(principal !== undefined && { principal }),
    });
  const misnamed = nameProblem(incoming, parts);
  if (misnamed) throw misnamed;
  const page = provenanceOf(incoming);
  // A tunnel may have replaced the host by that of this machine.
  const own = [
    incoming.headers.host,
    parts.publicUrl && new URL(parts.publicUrl).host,
  ];
  if (!own.some((host) => isOwnPage(page, host))) {
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
  if (isOperator(identity)) return identity;
  record(ErrorCode.FORBIDDEN, "Not allowed to operate", identity.principal);
  throw problemOf(
    403,
    "Authorization",
    "its holder is no operator",
    'add "operator" to the roles of the key, or to the claim role of the token',
  );
}

const isOperator = (identity: Identity): identity is Operator =>
  mayOperate(identity.policy);

/** Checks that a request asks for a name of this server. */
const nameProblem = (incoming: RequestHead, parts: RequestParts) =>
  judgeHost(incoming, parts) && problemOf(
    403,
    "Host",
    "this Server has not that name",
    "use a name of it, such as localhost; smcp-server lets in others with --hosts",
  );

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
