/**
 * The HTTP side of a Computer's page: the page and its parts, and below `/ui/v1` its data and answers.
 *
 * The page itself is the same for all users of this machine. Its data needs the token in the link, and the
 * origin of the page.
 *
 * @module
 */
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { randomBytes } from "node:crypto";
import { Hono } from "hono";
import { listenOrExplain } from "../../../cli/listen.ts";
import { ChangeFeed } from "./change_feed.ts";
import { type PageSources, PageState } from "./page_state.ts";
import { log } from "../../util/log.ts";
import { reasonOf } from "../../util/values.ts";
import { answerConsole, COMPUTER_PAGE } from "../../../console/mod.ts";
import { isSameToken } from "../../../shared/authorization.ts";
import {
  type ProblemError,
  problemOf,
  readJson,
  toProblemResponse,
} from "../../../shared/http.ts";
import {
  answerHeader,
  hostGuard,
  noMoreStreams,
  originGuard,
  type PageEnv,
  sendProblems,
  toEventStream,
  tokenGuard,
} from "../../../shared/page_api.ts";

/** Only this machine may see the page. */
const PAGE_HOST = "127.0.0.1";
/** Many more than the most streams. */
const MAX_CONNECTIONS = 128;
/** How long a stream that has ended may take to be read. */
const END_TIMEOUT_MS = 1_000;
/** The path of everything but the page itself. */
const BASE_PATH = "/ui/v1";
/** The largest answer, in bytes. */
const MAX_ANSWER_BYTES = 65_536;
/** Any port, since a tunnel may have another one than this server. */
const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/** Serves the page of a Computer to browsers of this machine. */
export class PageServer {
  readonly #token = randomBytes(32).toString("hex");
  /** What it shows. */
  readonly state: PageState;
  readonly #feed: ChangeFeed;
  readonly #server: Server;

  constructor(sources: PageSources) {
    const state = this.state = new PageState(sources);
    this.#feed = new ChangeFeed(
      (version) => state.since(version),
      sources.changes,
    );
    const data = dataApp(sources, state, this.#feed, this.#token);
    this.#server = createServer(
      getRequestListener(pageApp(data).fetch, {
        overrideGlobalObjects: false,
        errorHandler: () =>
          toProblemResponse(
            problemOf(400, "request", "it cannot be read", "correct it"),
          ),
      }),
    );
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /**
   * Starts to serve the page.
   *
   * @param port 0 for any free one
   * @returns the address of the page, with the token, which is enough to answer questions
   * @throws {Error} that names the flag to change, when the port cannot be used
   */
  async listen(port: number): Promise<string> {
    await listenOrExplain(
      async () => {
        this.#server.listen(port, PAGE_HOST);
        await once(this.#server, "listening");
      },
      { hostname: PAGE_HOST, port },
      "--ui-",
    );
    const address = this.#server.address() as AddressInfo;
    return `http://${PAGE_HOST}:${address.port}/#token=${this.#token}`;
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.state.close();
    this.#feed.close();
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeIdleConnections();
    const timer = setTimeout(
      () => this.#server.closeAllConnections(),
      END_TIMEOUT_MS,
    );
    await closed;
    clearTimeout(timer);
  }
}

/**
 * Creates the app of a Computer's page.
 *
 * @param data the app below `/ui/v1`
 */
function pageApp(data: Hono<PageEnv>): Hono<PageEnv> {
  const app = new Hono<PageEnv>();
  app.onError(sendProblems(toProblem));
  app.use(answerHeader("X-Content-Type-Options", "nosniff"));
  app.use(`${BASE_PATH}/*`, answerHeader("Cache-Control", "no-store"));
  app.use(ownHost);
  app.route(BASE_PATH, data);
  // It holds no data, so that every user of this machine may have it, from any link.
  app.all("*", (c) => {
    const { method, path } = c.req;
    return answerConsole(COMPUTER_PAGE, {
      method,
      // A path that names no part is passed on: no part has one.
      ...(path !== "/" && { part: path.replace(/^\/console\//, "") }),
      ifNoneMatch: c.req.header("If-None-Match"),
    });
  });
  return app;
}

/** Creates the app with the data of a page, which takes its answers as well. */
function dataApp(
  { computer, questions }: PageSources,
  state: PageState,
  feed: ChangeFeed,
  token: string,
): Hono<PageEnv> {
  const app = new Hono<PageEnv>();
  app.onError(sendProblems(toProblem));
  app.use(ownPage, ownToken(token));
  app.get("/state", () => Response.json(state.since(0)));
  app.get("/tools", () => Response.json({ tools: computer.listTools() }));
  app.get("/calls/:key", (c) => {
    const content = state.calls.content(Number(c.req.param("key")));
    if (content) return Response.json(content);
    throw problemOf(
      404,
      "key",
      "unknown call, or its content is not kept",
      "take one of the latest calls",
    );
  });
  app.get("/questions/:id", (c) => {
    const facts = questions.whole(c.req.param("id"));
    return Response.json({ facts });
  });
  app.post("/questions/:id", async (c) => {
    const body = await readJson(c.env.incoming, MAX_ANSWER_BYTES);
    questions.answer(c.req.param("id"), body);
    return Response.json({ done: true });
  });
  app.get("/events", () => {
    if (feed.isFull) {
      throw noMoreStreams("too many open pages, or the Computer is stopping");
    }
    const headers = { Connection: "close" }; // nothing can follow it
    return toEventStream(feed.open(), headers);
  });
  app.all("*", () => {
    throw problemOf(404, "path", "unknown path", "correct it");
  });
  return app;
}

const ownHost = hostGuard(
  ({ headers: { host = "" } }) => LOOPBACK_HOST.test(host),
  "use the link that the Computer printed",
);

const ownPage = originGuard({
  hosts: ({ headers: { host } }) => [host],
  fix: "send the request from the page of this Computer, or from no page",
});

const ownToken = (token: string) =>
  tokenGuard<PageEnv>({
    realm: "computer",
    fix: "open the link that the Computer printed last",
    check: (sent) =>
      sent !== undefined && isSameToken(sent, token)
        ? undefined
        : "invalid token; it changes at each start",
  });

/** Converts an error that is not a problem. */
function toProblem(error: unknown): ProblemError {
  log.error("The page failed: {reason}", { reason: reasonOf(error) });
  return problemOf(500, "computer", "internal error", "see its log");
}
