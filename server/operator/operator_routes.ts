/**
 * The HTTP side of the operator API: each admitted request is answered with JSON, a stream or a problem;
 * the console's page is beside it.
 *
 * @module
 */
import * as z from "../../protocol/schema.ts";
import { type Context, Hono } from "hono";
import { answerConsole, SERVER_PAGE } from "../../console/mod.ts";
import { ProtocolError } from "../../protocol/mod.ts";
import { OpenExchanges } from "../doors/expiry.ts";
import { closed } from "../http/closing.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import { failure, log } from "../shared/log.ts";
import { seesAll, seesOffice } from "../shared/identity.ts";
import {
  type ProblemError,
  problemOf,
  readJson,
  retryLater,
} from "../../shared/http.ts";
import {
  answerHeader,
  noMoreStreams,
  sendProblems,
  toEventStream,
} from "../../shared/page_api.ts";
import {
  limitOperator,
  type OperatorAdmission,
  type OperatorEnv,
  requireEncodedUrl,
  requireOperator,
  requireOperators,
  requireOwnHost,
  requireOwnPage,
} from "./admission.ts";
import { type ApiParts, invalid, type Operator, OperatorApi } from "./api.ts";
import { acceptsGzip, EventFeed, type FeedView } from "./event_feed.ts";
import { EventTap, Recorder } from "./event_pages.ts";
import { followNodes, NO_OTHERS } from "./nodes.ts";
import {
  BASE_PATH,
  EVENTS_PATH,
  openApi,
  OPENAPI_PATH,
  type Operation,
  OPERATIONS,
} from "./operations.ts";

/** How long a stream that has ended may take to be read. */
const END_TIMEOUT_MS = 1000;
/** The largest body of most changes, in bytes. */
const MAX_BODY_BYTES = 16_384;
/** The path of the page. */
const CONSOLE_PATH = "/console";

/** The parts of a server that {@linkcode OperatorRoutes} needs. */
interface OperatorParts
  extends OperatorAdmission, Omit<ApiParts, "others" | "feed" | "tap"> {}

/** The HTTP requests of operators. While there can be no operators, its paths answer 404. */
export class OperatorRoutes {
  readonly #parts: OperatorParts;
  readonly #feed: EventFeed;
  readonly #tap: EventTap;
  readonly #api: OperatorApi;
  readonly #open: OpenExchanges;

  constructor(parts: OperatorParts) {
    const others = parts.cluster?.others ?? NO_OTHERS;
    const recorder = new Recorder(parts.journal);
    this.#parts = parts;
    this.#feed = new EventFeed(recorder, followNodes(others));
    this.#tap = new EventTap(recorder);
    this.#api = new OperatorApi({
      ...parts,
      others,
      feed: this.#feed,
      tap: this.#tap,
    });
    this.#open = new OpenExchanges(
      parts.limiter,
      (identity) => parts.authenticator?.refresh?.(identity),
    );
  }

  /** Adds the routes to an app. */
  mount(app: Hono<SmcpEnv>): void {
    app.route(CONSOLE_PATH, consoleApp(this.#parts));
    app.route(BASE_PATH, this.#apiApp());
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

  #apiApp(): Hono<OperatorEnv> {
    const parts = this.#parts;
    const app = new Hono<OperatorEnv>();
    app.onError(sendProblems(toProblem));
    app.use(
      requireOperators(parts),
      answerHeader("Cache-Control", "no-store"),
      answerHeader("X-Content-Type-Options", "nosniff"),
      requireOwnHost(parts),
      requireOwnPage(parts),
      requireOperator(parts),
      limitOperator(this.#open, parts),
      requireEncodedUrl,
    );
    for (const operation of OPERATIONS) {
      const path = operation.path.replaceAll(/\{(\w+)\}/g, ":$1");
      app.on(
        operation.method.toUpperCase(),
        path,
        async (c) => Response.json(await this.#run(operation, c)),
      );
    }
    app.get(EVENTS_PATH, (c) => this.#stream(c));
    app.get(OPENAPI_PATH, () => Response.json(openApi(parts.version)));
    app.all("*", () => {
      throw problemOf(
        404,
        "path",
        "unknown operation",
        `take one of ${BASE_PATH}${OPENAPI_PATH}`,
      );
    });
    return app;
  }

  #run({ run, isLong }: Operation, c: Context<OperatorEnv>): unknown {
    const { env: { incoming, outgoing }, var: { operator } } = c;
    const { maxMessageBytes } = this.#parts;
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    if (isLong) this.#open.add(outgoing, operator);
    return run({
      operator,
      api: this.#api,
      signal: gone.signal,
      param: (name) => c.req.param(name) ?? "",
      query: (name) => c.req.query(name),
      async body(schema, size) {
        const most = size === "message" ? maxMessageBytes : MAX_BODY_BYTES;
        const data = await readJson(incoming, most);
        const result = schema.safeParse(data, z.ENGLISH);
        if (result.success) return result.data;
        throw invalid(result.error, "body");
      },
    });
  }

  #stream(c: Context<OperatorEnv>): Response {
    if (this.#feed.isFull) {
      throw noMoreStreams(
        "too many open streams, or the Server is shutting down",
      );
    }
    const { env: { outgoing }, var: { operator } } = c;
    const isPacked = acceptsGzip(c.req.header("accept-encoding"));
    this.#open.add(outgoing, operator);
    const reader = this.#feed.open(
      viewFor(operator, c.req.query("office")),
      c.req.header("last-event-id"),
      isPacked,
      // One that does not read its end is cut off.
      (isUnread) => {
        if (isUnread) void closed([outgoing], END_TIMEOUT_MS);
      },
    );
    // That of a HEAD request is never read.
    outgoing.once("close", () => reader.leave());
    return toEventStream(reader.stream, {
      ...(isPacked && { "Content-Encoding": "gzip" }),
      Vary: "Accept-Encoding",
      "X-Accel-Buffering": "no", // for nginx
    });
  }
}

/**
 * Returns the events that an operator may see.
 *
 * @param only the office of which events are requested; default all
 */
const viewFor = (
  { policy }: Operator,
  only: string | undefined,
): FeedView => ({
  key: JSON.stringify([policy.offices, only]),
  sees: (office) =>
    office === undefined
      ? only === undefined && seesAll(policy)
      : (only ?? office) === office && seesOffice(policy, office),
});

/** Converts an error that is not a problem. */
function toProblem(error: unknown): ProblemError {
  if (error instanceof ProtocolError) { // of the cluster
    return retryLater("server", error.message);
  }
  log.error("The operator API failed", failure(error));
  return problemOf(
    500,
    "server",
    "internal error",
    "ask its administrator for the reason in its log",
  );
}

/**
 * Creates the app of the console's page and its parts. They hold no data, and so need no token; while
 * there can be no operators, their paths answer 404.
 */
function consoleApp(parts: OperatorAdmission): Hono<SmcpEnv> {
  const app = new Hono<SmcpEnv>();
  app.onError(sendProblems(toProblem));
  app.use(requireOperators(parts), async (c, next) => {
    c.env.incoming.resume(); // an unread body would hold the connection open
    return await next();
  }, requireOwnHost(parts));
  app.all("*", (c) => {
    const { method, path } = c.req;
    if (path === `${CONSOLE_PATH}/`) {
      // Relative: a proxy may have put it somewhere else.
      const headers = { Location: "../console" };
      return new Response(null, { status: 308, headers });
    }
    return answerConsole(SERVER_PAGE, {
      method,
      ...(path !== CONSOLE_PATH &&
        { part: path.slice(CONSOLE_PATH.length + 1) }),
      ifNoneMatch: c.env.incoming.headers["if-none-match"],
    });
  });
  return app;
}
