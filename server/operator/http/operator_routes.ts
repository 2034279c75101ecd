import type { Context, Hono } from "hono";
import * as z from "../../../protocol/schema.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import { seesAll, seesOffice } from "../../shared/identity.ts";
import { OpenExchanges } from "../../gateway/open_exchanges.ts";
import { closed } from "../../http/closing.ts";
import type { SmcpEnv } from "../../http/http_app.ts";
import type { Exchange, Incoming } from "../../shared/exchange.ts";
import { failure, log } from "../../shared/log.ts";
import { notFound, toResponse } from "../../shared/refusal.ts";
import {
  ProblemError,
  problemOf,
  readJson,
  retryLater,
  toProblemResponse,
} from "../../../shared/http.ts";
import { type ApiParts, invalid, OperatorApi } from "../api.ts";
import { EventTap } from "../feed/event_pages.ts";
import { Recorder } from "../feed/recorder.ts";
import { followNodes, OtherOperators } from "../nodes.ts";
import { acceptsGzip, EventFeed } from "../feed/event_feed.ts";
import {
  admitOperator,
  type AdmittedOperator,
  checkName,
  isOn,
  type OperatorAdmission,
} from "./admit_operator.ts";
import {
  BASE_PATH,
  EVENTS_PATH,
  openApi,
  OPENAPI_PATH,
  type Operation,
  OPERATIONS,
} from "./operations.ts";
import { answerConsole, SERVER_PAGE } from "../../../console/mod.ts";

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
    const others = new OtherOperators(parts.cluster?.others);
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
