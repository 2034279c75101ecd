/**
 * Sign-in at the Servers of a cluster: what one has let in, all know, and what has ended ends at all.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { signIn } from "@a2c-smcp/server/sign-in";
import { mcpGateway } from "../../mcp/mod.ts";
import { joinCluster } from "../../server/cluster/mod.ts";
import { apiKeys, createSmcpServer } from "../../server/mod.ts";
import { startRedis } from "../support/cluster/redis.ts";
import { until } from "../support/cluster/programs.ts";
import { INITIALIZE, post } from "../support/mcp/post.ts";
import { SignInVisitor } from "../support/server/sign_in.ts";

/** How clients reach them all. */
const PUBLIC_URL = "http://127.0.0.1:1";

const PATH = "/mcp/home";

/** What programs and a browser do at one of the Servers. */
class Node extends SignInVisitor implements AsyncDisposable {
  readonly issuer = PUBLIC_URL;
  readonly url: string;
  readonly #server: ReturnType<typeof createSmcpServer>;

  private constructor(
    url: string,
    server: ReturnType<typeof createSmcpServer>,
  ) {
    super();
    this.url = url;
    this.#server = server;
  }

  static async start(redis: string): Promise<Node> {
    const server = createSmcpServer({
      cluster: await joinCluster(redis),
      authenticator: apiKeys([{ id: "ann", key: "ann-key" }]),
      gateway: mcpGateway(),
      signIn: signIn(),
      publicUrl: PUBLIC_URL,
    });
    const { url } = await server.listen({ port: 0 });
    return new Node(url, server);
  }

  override request(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.url + path, init);
  }

  /** Opens a session with a token; the answer. */
  initialize(token: string) {
    const headers = { authorization: `Bearer ${token}` };
    return post(this.url + PATH, { headers, body: INITIALIZE });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server.close();
  }
}

Deno.test({
  name:
    "sign-in #34: a grant of one Server counts at all, and its end ends open streams at all; without Redis tokens get 503",
  timeout: 60_000,
}, async () => {
  await using redis = await startRedis({ persistent: true });
  await using a = await Node.start(redis.url);
  await using b = await Node.start(redis.url);
  const client = await a.register();
  const { path, verifier } = a.ask(client);
  // Each request of a sign-in reaches another Server.
  const to = await b.visit(path, { key: "ann-key", later: true });
  const code = to.searchParams.get("code") ?? "";
  const tokens = await (await a.redeem(code, verifier, client)).json();
  const again = await b.redeem(code, verifier, client);
  assertEquals((await again.json()).error, "invalid_grant");

  const opened = await b.initialize(tokens.access_token);
  assertEquals(opened.status, 200);
  const stream = await b.request(PATH, {
    headers: {
      accept: "text/event-stream",
      authorization: `Bearer ${tokens.access_token}`,
      "mcp-session-id": String(opened.headers["mcp-session-id"]),
    },
  });
  assertEquals(stream.status, 200);

  await redis.kill();
  const failed = await a.initialize(tokens.access_token);
  assertEquals([failed.status, failed.headers["retry-after"]], [503, "1"]);
  const renewal = await a.renew(tokens);
  assertEquals(renewal.status, 503);
  assertEquals((await renewal.json()).error, "temporarily_unavailable");
  await redis.restart({ keepData: true });
  await until(async () =>
    (await a.initialize(tokens.access_token)).status === 200
  );

  const renewed = await settled(() => b.renew(tokens));
  assertEquals(renewed, 200);
  const revoked = await a.post("/revoke", { token: tokens.access_token });
  assertEquals([revoked.status, await revoked.text()], [200, ""]);
  await stream.text().catch(() => {}); // it ends
  const refused = await b.initialize(tokens.access_token);
  assertEquals(refused.status, 401);
  assert(refused.headers["www-authenticate"]?.includes("invalid_token"));
});

/** Asks until nothing fails any more: returns the status. */
async function settled(ask: () => Promise<Response>): Promise<number> {
  let status = 0;
  await until(async () => {
    const answer = await ask();
    await answer.body?.cancel();
    status = answer.status;
    return status !== 503;
  });
  return status;
}
