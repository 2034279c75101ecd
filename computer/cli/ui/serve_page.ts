import type { AddressInfo } from "node:net";
import { createServer, type IncomingMessage } from "node:http";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { randomBytes } from "node:crypto";
import { type Context, Hono } from "hono";
import { listenOrExplain } from "../../../cli/listen.ts";
import { type Changes, NewsFeed } from "./news_feed.ts";
import { PageState } from "./page_state.ts";
import type { QuestionDesk } from "./question_desk.ts";
import type { SmcpComputer } from "../../computer.ts";
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

/** The page of a Computer, while it is served. */
export interface ServedPage {
  /** Its address, with the token; whoever has it can answer questions. */
  readonly link: string;
  /** Shows what changed of the Computer besides its events. */
  changed(): void;
  /** Ends it. */
  close(): Promise<void>;
}

/** What {@linkcode servePage} needs. */
export interface ServePageOptions {
  readonly computer: SmcpComputer;
  readonly desk: QuestionDesk;
  /** Where a person authorizes the Computer, by the names of MCP servers. */
  readonly addresses: ReadonlyMap<string, string>;
  readonly changes: Changes;
  /** The port; 0 for any free one. */
  readonly port: number;
}

/**
 * Serves the page of a Computer to browsers of this machine.
 *
 * @throws {Error} that names the flag to change, when the port cannot be used
 */
export async function servePage(
  { computer, desk, addresses, changes, port }: ServePageOptions,
): Promise<ServedPage> {
  const token = randomBytes(32).toString("hex");
  const state = new PageState({ computer, desk, addresses, changes });
  const feed = new NewsFeed(state, changes);
  const app = pageApp({ state, feed, token });
  const server = createServer(
    getRequestListener(app.fetch, {
      overrideGlobalObjects: false,
      errorHandler: () =>
        toProblemResponse(
          problemOf(400, "request", "it cannot be read", "correct it"),
        ),
    }),
  );
  server.maxConnections = MAX_CONNECTIONS;
  const address = { hostname: PAGE_HOST, port };
  await listenOrExplain(
    () =>
      new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, PAGE_HOST, () => {
          server.off("error", reject);
          resolve();
        });
      }),
    address,
    "--ui-",
  );
  const { port: actual } = server.address() as AddressInfo;
  return {
    link: `http://${PAGE_HOST}:${actual}/#token=${token}`,
    changed: () => state.changed(),
    close: async () => {
      state.close();
      feed.close();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(
          () => server.closeAllConnections(),
          END_TIMEOUT_MS,
        );
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
        server.closeIdleConnections();
      });
    },
  };
}

/** The path of everything but the page itself. */
const BASE_PATH = "/ui/v1";
/** The path of what the page is made of. */
const PARTS_PATH = "/console/";
/** The largest answer, in bytes. */
const MAX_ANSWER_BYTES = 65_536;

/** The parts that {@linkcode pageApp} needs. */
export interface PageParts {
  readonly state: PageState;
  readonly feed: NewsFeed;
  readonly token: string;
}

type Env = { Bindings: HttpBindings };
type Answer = (c: Context<Env>) => unknown;

/** Creates the HTTP app of a Computer's page. */
export function pageApp({ state, feed, token }: PageParts): Hono<Env> {
  const app = new Hono<Env>();
  const add = (method: "get" | "post", path: string, answer: Answer) =>
    app[method](BASE_PATH + path, (c) =>
      respond(c, () => {
        checkSender(c.env.incoming, token);
        return answer(c);
      }));

  add("get", "/state", () => state.since(0));
  add("get", "/tools", () => ({ tools: state.tools() }));
  add("get", "/calls/:key", (c) => {
    const content = state.calls.content(Number(c.req.param("key")));
    if (content) return content;
    throw problemOf(
      404,
      "key",
      "its content is not kept, or there was no such call",
      "take one of the latest calls",
    );
  });
  add("post", "/questions/:id", async (c) => {
    const body = await readJson(c.env.incoming, MAX_ANSWER_BYTES);
    state.desk.answer(c.req.param("id") ?? "", body);
    return { done: true };
  });
  add("get", "/events", (c) => {
    if (!feed.isFull) {
      return c.body(feed.open(), 200, {
        "Content-Type": "text/event-stream",
        "Connection": "close", // nothing can follow it
      });
    }
    throw new ProblemError(
      503,
      [{
        field: "events",
        problem:
          "there are as many pages as can be, or the Computer is stopping",
        fix: "close one, or try again later",
      }],
      { "Retry-After": "5" },
    );
  });
  app.all(`${BASE_PATH}/*`, (c) =>
    respond(c, () => {
      checkSender(c.env.incoming, token);
      throw problemOf(404, "path", "there is no such thing", "correct it");
    }));
  // It holds no data, so that anybody of this machine may have it, from whatever link.
  app.all("*", (c) => {
    const { method, path } = c.req;
    return respond(
      c,
      () =>
        answerConsole(COMPUTER_PAGE, {
          method,
          ...(path !== "/" && { part: partOf(path) }),
          ifNoneMatch: c.req.header("If-None-Match"),
        }),
      false,
    );
  });
  return app;
}

/** Names a part of the page; what is none has a path, which no part has. */
const partOf = (path: string): string =>
  path.startsWith(PARTS_PATH) ? path.slice(PARTS_PATH.length) : path;

/** @param isApi whether the answer must not be kept by the browser */
async function respond(
  c: Context<Env>,
  answer: () => unknown,
  isApi = true,
): Promise<Response> {
  const response = await responseOf(c, answer);
  if (isApi) response.headers.set("Cache-Control", "no-store");
  response.headers.set("X-Content-Type-Options", "nosniff");
  return response;
}

async function responseOf(
  { env: { incoming } }: Context<Env>,
  answer: () => unknown,
): Promise<Response> {
  try {
    checkHost(incoming);
    const result = await answer();
    return result instanceof Response ? result : Response.json(result);
  } catch (error) {
    incoming.resume(); // an unread body would hold the connection open
    if (error instanceof ProblemError) return toProblemResponse(error);
    log.error("The page failed: {reason}", { reason: reasonOf(error) });
    return toProblemResponse(
      problemOf(500, "computer", "it failed", "its log says why"),
    );
  }
}

/** Any port, since a tunnel may have another one than this server. */
const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;

/**
 * Refuses requests for another host, which a page gets by pointing its name to this machine.
 *
 * @throws {ProblemError} 403
 */
export function checkHost({ headers: { host = "" } }: IncomingMessage): void {
  if (LOOPBACK_HOST.test(host)) return;
  throw problemOf(
    403,
    "Host",
    "this Computer has not that name",
    "use the link that it printed",
  );
}

/**
 * Refuses requests of other pages than its own, and those without the token.
 *
 * @throws {ProblemError} 401, 403
 */
export function checkSender(
  { headers }: IncomingMessage,
  token: string,
): void {
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
  throw new ProblemError(
    401,
    [{
      field: "Authorization",
      problem:
        "it has not the token of this Computer, which is a new one at each start",
      fix: "open the link that it printed last",
    }],
    { "WWW-Authenticate": 'Bearer realm="computer"' },
  );
}
