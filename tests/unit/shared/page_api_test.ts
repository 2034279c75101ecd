import { assertEquals } from "@std/assert";
import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import { problemOf } from "../../../shared/http.ts";
import {
  answerHeader,
  hostGuard,
  originGuard,
  type PageEnv,
  sendProblems,
  tokenGuard,
} from "../../../shared/page_api.ts";

/** Sends a request to an app with all guards; returns its answer, and whether the body was dropped. */
async function send(
  path: string,
  headers: Readonly<Record<string, string>>,
) {
  const app = new Hono<PageEnv>();
  app.onError(
    sendProblems((error) =>
      problemOf(500, "server", String(error), "see its log")
    ),
  );
  app.use(
    answerHeader("Cache-Control", "no-store"),
    hostGuard(({ headers }) => headers.host === "here", "use here"),
    originGuard({ hosts: ({ headers }) => [headers.host], fix: "use a page" }),
    tokenGuard({
      realm: "test",
      fix: "send it",
      check: (token) => token === "secret" ? undefined : "invalid token",
    }),
  );
  app.get("/data", () => Response.json({ data: 1 }));
  app.get("/fault", () => {
    throw new Error("a fault");
  });
  let isDropped = false;
  const incoming = { headers, resume: () => void (isDropped = true) };
  const env = { incoming } as unknown as HttpBindings;
  const response = await app.request(path, {}, env);
  const { errors: [error] = [], data } = await response.json();
  return {
    status: response.status,
    field: error?.field,
    problem: error?.problem,
    data,
    isDropped,
    cache: response.headers.get("Cache-Control"),
    challenge: response.headers.get("WWW-Authenticate"),
  };
}

const OWN = { host: "here", authorization: "Bearer secret" };

Deno.test("guards of a page's API refuse by host, origin and token, in this order", async () => {
  const foreign = { host: "there", origin: "http://there" };
  const rows: [
    headers: Readonly<Record<string, string>>,
    status: number,
    field: string | undefined,
    problem: string | undefined,
  ][] = [
    [foreign, 403, "Host", "unknown host name"],
    [
      { ...foreign, host: "here" },
      403,
      "Origin",
      "pages of other origins are refused",
    ],
    [
      { ...OWN, "sec-fetch-site": "cross-site" },
      403,
      "Origin",
      "pages of other origins are refused",
    ],
    [{ host: "here" }, 401, "Authorization", "invalid token"],
    [{ ...OWN, origin: "http://here" }, 200, undefined, undefined],
    [OWN, 200, undefined, undefined],
  ];
  for (const [headers, ...expected] of rows) {
    const answer = await send("/data", headers);
    const { status, field, problem, cache, challenge } = answer;
    assertEquals([status, field, problem], expected);
    assertEquals(cache, "no-store");
    assertEquals(answer.isDropped, status !== 200, "an unread body stays");
    assertEquals(challenge, status === 401 ? 'Bearer realm="test"' : null);
  }
});

Deno.test("a fault of a page's API is the problem that the app makes of it", async () => {
  const { status, field, problem } = await send("/fault", OWN);
  assertEquals([status, field, problem], [500, "server", "Error: a fault"]);
});
