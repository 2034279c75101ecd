import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import {
  ProblemError,
  problemOf,
  readJson,
  toProblemResponse,
} from "../../../shared/http.ts";
import { log } from "../../util/log.ts";
import { reasonOf } from "../../util/values.ts";
import { checkHost, checkSender } from "./admit_page.ts";
import type { NewsFeed } from "./news_feed.ts";
import type { PageState } from "./page_state.ts";
import { answerConsole, COMPUTER_PAGE } from "../../../console/mod.ts";

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
