/**
 * The HTTP side of a Computer's page: who may read it, what it reads, and how an answer comes in.
 *
 * The page itself is the same for everybody of this machine. What it reads, below `/ui/v1`, needs the
 * token in the link, and its own origin.
 *
 * @module
 */
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { randomBytes } from "node:crypto";
import { Hono } from "hono";
import { listenOrExplain } from "../../../cli/listen.ts";
import { newsFeed } from "./news_feed.ts";
import { type PageSources, pageState } from "./page_state.ts";
import { log } from "../../util/log.ts";
import { reasonOf } from "../../util/values.ts";
import { answerConsole, COMPUTER_PAGE } from "../../../console/mod.ts";
import {
  bearerToken,
  isOwnPage,
  isSameToken,
} from "../../../shared/authorization.ts";
import {
  ProblemError,
  problemOf,
  readJson,
  toProblemResponse,
} from "../../../shared/http.ts";

/** Only this machine may see the page. */
const PAGE_HOST = "127.0.0.1";
/** Many more than the streams that there can be. */
const MAX_CONNECTIONS = 128;
/** How long a stream that has ended may take to be read. */
const END_TIMEOUT_MS = 1_000;
/** The path of everything but the page itself. */
const BASE_PATH = "/ui/v1";
/** The largest answer, in bytes. */
const MAX_ANSWER_BYTES = 65_536;
/** Any port, since a tunnel may have another one than this server. */
const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/**
 * Serves the page of a Computer to browsers of this machine.
 *
 * @param port 0 for any free one
 * @throws {Error} that names the flag to change, when the port cannot be used
 */
export async function servePage(sources: PageSources, port: number) {
  const token = randomBytes(32).toString("hex");
  const state = pageState(sources);
  const feed = newsFeed(state.since, sources.changes);
  const { fetch } = pageApp(sources, state, feed, token);
  const server = createServer(
    getRequestListener(fetch, {
      overrideGlobalObjects: false,
      errorHandler: () =>
        toProblemResponse(
          problemOf(400, "request", "it cannot be read", "correct it"),
        ),
    }),
  );
  server.maxConnections = MAX_CONNECTIONS;
  await listenOrExplain(
    async () => {
      server.listen(port, PAGE_HOST);
      await once(server, "listening");
    },
    { hostname: PAGE_HOST, port },
    "--ui-",
  );
  const { port: actual } = server.address() as AddressInfo;
  return {
    /** Its address, with the token; whoever has it can answer questions. */
    link: `http://${PAGE_HOST}:${actual}/#token=${token}`,
    /** Shows what changed of the Computer besides its events. */
    changed: state.changed,
    /** Ends it. */
    close: async () => {
      state.close();
      feed.close();
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      const timer = setTimeout(
        () => server.closeAllConnections(),
        END_TIMEOUT_MS,
      );
      await closed;
      clearTimeout(timer);
    },
  };
}

/** Creates the HTTP app of a Computer's page. */
function pageApp(
  { computer, desk }: PageSources,
  state: ReturnType<typeof pageState>,
  feed: ReturnType<typeof newsFeed>,
  token: string,
) {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const api = app.basePath(BASE_PATH);
  const answerWith = (path: string, name: string, value: string) =>
    app.use(path, async (c, next) => {
      await next();
      c.res.headers.set(name, value);
    });
  answerWith("*", "X-Content-Type-Options", "nosniff");
  answerWith(`${BASE_PATH}/*`, "Cache-Control", "no-store");
  app.use((c, next) => {
    checkHost(c.env.incoming);
    return next();
  });
  api.use((c, next) => {
    checkSender(c.env.incoming, token);
    return next();
  });
  app.onError((error, c) => {
    c.env.incoming.resume(); // an unread body would hold the connection open
    if (error instanceof ProblemError) return toProblemResponse(error);
    log.error("The page failed: {reason}", { reason: reasonOf(error) });
    return toProblemResponse(
      problemOf(500, "computer", "it failed", "its log says why"),
    );
  });

  api.get("/state", () => Response.json(state.since(0)));
  api.get("/tools", () => Response.json({ tools: computer.listTools() }));
  api.get("/calls/:key", (c) => {
    const content = state.calls.content(Number(c.req.param("key")));
    if (content) return Response.json(content);
    throw problemOf(
      404,
      "key",
      "its content is not kept, or there was no such call",
      "take one of the latest calls",
    );
  });
  api.get(
    "/questions/:id",
    (c) => Response.json({ facts: desk.whole(c.req.param("id")) }),
  );
  api.post("/questions/:id", async (c) => {
    const body = await readJson(c.env.incoming, MAX_ANSWER_BYTES);
    desk.answer(c.req.param("id"), body);
    return Response.json({ done: true });
  });
  api.get("/events", (c) => {
    if (!feed.isFull()) {
      return c.body(feed.open(), 200, {
        "Content-Type": "text/event-stream",
        "Connection": "close", // nothing can follow it
      });
    }
    const problem =
      "there are as many pages as can be, or the Computer is stopping";
    const fix = "close one, or try again later";
    const fault = { field: "events", problem, fix };
    throw new ProblemError(503, [fault], { "Retry-After": "5" });
  });
  api.all("*", () => {
    throw problemOf(404, "path", "there is no such thing", "correct it");
  });
  // It holds no data, so that anybody of this machine may have it, from whatever link.
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

/** Refuses requests for another host, which a page gets by pointing its name to this machine. */
function checkHost({ headers: { host = "" } }: IncomingMessage): void {
  if (LOOPBACK_HOST.test(host)) return;
  throw problemOf(
    403,
    "Host",
    "this Computer has not that name",
    "use the link that it printed",
  );
}

/** Refuses requests of other pages than its own, and those without the token. */
function checkSender({ headers }: IncomingMessage, token: string): void {
  const { host, origin, "sec-fetch-site": site, authorization } = headers;
  const from = typeof site === "string" ? site : undefined;
  if (!isOwnPage({ origin, site: from }, host)) {
    throw problemOf(
      403,
      "Origin",
      "pages of other sites may not ask",
      "ask from the page of this Computer, or from no page",
    );
  }
  const sent = bearerToken(authorization);
  if (sent !== undefined && isSameToken(sent, token)) return;
  const problem =
    "it has not the token of this Computer, which is a new one at each start";
  const fix = "open the link that it printed last";
  throw new ProblemError(401, [{ field: "Authorization", problem, fix }], {
    "WWW-Authenticate": 'Bearer realm="computer"',
  });
}
