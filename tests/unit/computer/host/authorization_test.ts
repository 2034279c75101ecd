import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { readdir, stat } from "node:fs/promises";
import { OAuthSession } from "../../../../computer/host/oauth/authorizations.ts";
import { defaultOAuthDirectory } from "../../../../computer/util/defaults.ts";
import {
  authorizationAnswer,
  type AuthorizationError,
  credentialsWanted,
  expired,
  notAuthorizedYet,
  notRenewed,
  refusalOf,
  refusedByPerson,
} from "../../../../computer/host/oauth/authorized_fetch.ts";
import { listenForRedirect } from "../../../../computer/host/oauth/redirect_listener.ts";
import { TokenStore } from "../../../../computer/host/oauth/token_store.ts";

Deno.test("refusalOf() returns 4006 for HTTP 401 and 4007 for 403, and nothing for other errors", () => {
  const codes = [200, 400, 401, 403, 404, 429, 500, 503].map((status) =>
    refusalOf(status)?.code
  );
  assertEquals(codes, [
    undefined,
    undefined,
    4006,
    4007,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

Deno.test("0.4 §8.3: refusalOf() takes WWW-Authenticate of other refusals for 4006, but not of the transport's", () => {
  const codes = [200, 400, 401, 403, 404, 405, 422, 500].map((status) =>
    refusalOf(status, true)?.code
  );
  assertEquals(codes, [
    undefined,
    4006,
    4006,
    4007,
    undefined,
    undefined,
    4006,
    undefined,
  ]);
});

Deno.test("errors about authorization have a code, an action, and no address", () => {
  const rows: [AuthorizationError, number, string][] = [
    [credentialsWanted(), 4006, "configure"],
    [notAuthorizedYet(), 4006, "authorize"],
    [expired(), 4007, "authorize"],
    [refusedByPerson(), 4007, "authorize"],
    [notRenewed(), 4007, "authorize"],
  ];
  for (const [error, code, action] of rows) {
    const answer = authorizationAnswer("say", "a", error);
    assertEquals(answer, {
      code,
      text: `Cannot call "say" of MCP server "a". ${error.hint.message}`,
      fields: {
        mcp_server: "a",
        auth_hint: { action, message: error.hint.message },
      },
    });
    assertEquals(/:\/\/|[?&=]/.test(JSON.stringify(answer.fields)), false);
  }
});

Deno.test("listenForRedirect() refuses requests that are not an answer, and keeps waiting", async () => {
  const listener = await listenForRedirect("state", 0);
  try {
    const { origin, href } = new URL(listener.url);
    const visit = async (url: string) => {
      const response = await fetch(url);
      return [response.status, await response.text()];
    };
    for (
      const url of [
        `${origin}//`,
        `${origin}//?code=1&state=state`,
        href,
        `${href}?code=1&state=other`,
      ]
    ) {
      assertEquals(
        await visit(url),
        [400, "This is not the answer that is waited for."],
        url,
      );
    }
    const [status] = await visit(`${href}?code=a%3Fb?c&state=state`);
    assertEquals([status, await listener.code], [200, "a?b?c"]);
  } finally {
    listener.close();
  }
});

const tokens = (access_token: string) => ({
  access_token,
  refresh_token: "r",
  token_type: "bearer",
});

Deno.test("TokenStore keeps complete tokens, in order, readable only by the owner", async () => {
  const parent = await Deno.makeTempDir();
  try {
    const directory = join(parent, "state", "oauth");
    const store = new TokenStore(directory, "https://host/mcp?key=s3cret");
    assertEquals(await store.current(), {});
    await store.save({ client: { client_id: "c", client_secret: "cs" } });
    // A request during a write is queued after it.
    const [, , seen] = await Promise.all([
      store.save({ tokens: tokens("1") }),
      store.save({ tokens: tokens("2") }),
      store.load(),
    ]);
    assertEquals(seen.tokens?.access_token, "2");
    assertEquals(store.secrets, ["cs", "2", "r"]);
    assertEquals(
      await new TokenStore(directory, "https://host/mcp?key=s3cret").load(),
      seen,
    );
    assertEquals(await new TokenStore(directory, "https://other/").load(), {});
    const [name = "", ...more] = await readdir(directory);
    assertEquals(more, []); // no draft is left
    if (Deno.build.os !== "windows") {
      const mode = async (path: string) => (await stat(path)).mode & 0o777;
      assertEquals(await mode(directory), 0o700);
      assertEquals(await mode(join(directory, name)), 0o600);
    }
    await Deno.writeTextFile(join(directory, name), "{ half a fi");
    assertEquals(await store.load(), {});
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
});

Deno.test("defaultOAuthDirectory() is below XDG_STATE_HOME, or below ~/.local/state", () => {
  const home = Deno.env.get("HOME") ?? "";
  assertEquals(
    defaultOAuthDirectory({ XDG_STATE_HOME: "/state" }),
    join("/state", "a2c-smcp", "oauth"),
  );
  assertEquals(
    defaultOAuthDirectory({}),
    join(home, ".local", "state", "a2c-smcp", "oauth"),
  );
});

Deno.test("OAuthSession.close() aborts a running authorization, waits for its end and does not ask the user", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const asked: string[] = [];
    const serverUrl = "http://127.0.0.1/mcp";
    const session = new OAuthSession({
      serverUrl,
      store: new TokenStore(join(directory, "oauth"), serverUrl),
      ask: (url) => asked.push(url),
      authorized: () => asked.push("authorized"),
    });
    const requested = Promise.withResolvers<void>();
    const events: string[] = [];
    // An authorization server that never answers.
    const fetch = (_: string | URL, init?: RequestInit) => {
      requested.resolve();
      return new Promise<Response>((_, reject) => {
        const refuse = () => reject(init?.signal?.reason);
        if (init?.signal?.aborted) refuse();
        else init?.signal?.addEventListener("abort", refuse);
      });
    };
    const renewed = assertRejects(
      () => session.renew(undefined, new Response(null), fetch),
      Error,
      "closed",
    ).then(() => events.push("ended"));
    await requested.promise;
    await session.close();
    events.push("closed");
    await renewed;
    assertEquals(events, ["ended", "closed"]);
    assertEquals(asked, []);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
