import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { OAuthSession } from "../../../../computer/host/oauth/authorizations.ts";
import { TokenStore } from "../../../../computer/host/oauth/token_store.ts";

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
