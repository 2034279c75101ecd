/**
 * Sign-in in Cloudflare's own runtime: what the registry's object keeps, and a program that is let in.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { AskingStore } from "../../../server/workers/sign_in_stores.ts";
import { joinComputer, OFFICE } from "../../support/edge/edge_office.ts";
import { Seals } from "../../../server/sign_in/seals.ts";
import {
  endWorkers,
  LEAVES_TIMER,
  startWorker,
  type Workerd,
} from "../../support/edge/workerd.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { INITIALIZE, JSON_HEADERS } from "../../support/mcp/post.ts";
import { operate } from "../../support/server/operator_client.ts";
import { SignInVisitor } from "../../support/server/sign_in.ts";
import {
  type Stores,
  testStores,
} from "../../support/sign_in/sign_in_stores.ts";

Deno.test.afterAll(endWorkers);

const SECRET = "ab".repeat(32);
const KEYS = [
  { id: "ann", key: "ann-key", roles: ["agent" as const] },
  { id: "pc", key: "computer-key", roles: ["computer" as const] },
  { id: "boss", key: "boss-key", roles: ["operator" as const] },
];

/** Starts a Server with a sign-in whose public URL is its own. */
async function startSignIn(single = false, LOSSY = false): Promise<Workerd> {
  const server = await startWorker({ OPTIONS: { insecure: true } });
  const OPTIONS = { publicUrl: server.url, single };
  await server.deploy({ OPTIONS, KEYS, MCP: true, SIGN_IN: SECRET, LOSSY });
  return server;
}

const storeOf = (server: Workerd, maxAgeMs?: number) =>
  new AskingStore((message) =>
    fetch(`${server.url}/.test/sign-in`, {
      method: "POST",
      body: JSON.stringify(message),
    }), maxAgeMs);

async function onWorkers(): Promise<Stores> {
  const server = await startSignIn();
  const nodes = [storeOf(server, 0), storeOf(server, 0)] as const;
  return {
    nodes,
    hasNoSecret: true,
    async restart() {
      await server.end("office=registry");
      return nodes;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

testStores("a Durable Object", onWorkers, LEAVES_TIMER);

/** What a program and a browser do at a Worker. */
class Visitor extends SignInVisitor {
  readonly issuer: string;

  constructor({ url }: Workerd) {
    super();
    this.issuer = url;
  }

  override request(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.issuer + path, init);
  }

  /** Sends a message of MCP with a token; the status, and the result. */
  async mcp(path: string, token: string, body = INITIALIZE) {
    const headers = { ...JSON_HEADERS, Authorization: `Bearer ${token}` };
    const answer = await this.request(path, { method: "POST", headers, body });
    const session = answer.headers.get("mcp-session-id") ?? "";
    return { status: answer.status, session, text: await answer.text() };
  }

  /** Opens the stream of a session; returns what resolves with its end. */
  async openStream(path: string, token: string, session: string) {
    const answer = await this.request(path, {
      headers: {
        Accept: "text/event-stream",
        Authorization: `Bearer ${token}`,
        "Mcp-Session-Id": session,
      },
    });
    assertEquals(answer.status, 200);
    return [answer.text().catch(() => {})];
  }
}

const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ ...LEAVES_TIMER, name, fn });

for (const single of [false, true]) {
  test(`a program is let in by the pages of ${single ? "one object" : "the registry"}, at an office and at the bare path, until its grant ends`, async () => {
    await using server = await startSignIn(single);
    const visitor = new Visitor(server);
    const { url } = server;
    await using _computer = await joinComputer({
      url,
      auth: { api_key: "computer-key" },
    });
    for (const path of [`/mcp/${OFFICE}`, "/mcp"]) {
      const tokens = await visitor.enter(
        { key: "ann-key", ...(path === "/mcp" && { office: OFFICE }) },
        { resource: url + path },
      );
      const { access_token: token } = tokens;
      const connect = CLIENTS["v2, 2025"];
      assert(connect);
      await using client = await connect({
        url: new URL(path, url),
        fetch: (input, init) => {
          const headers = new Headers(init?.headers);
          headers.set("Authorization", `Bearer ${token}`);
          return fetch(input, { ...init, headers });
        },
      });
      const [tool] = await client.tools();
      const { content } = await client.call(tool?.name ?? "", { a: 1 });
      assertEquals(content, [{ type: "text", text: '{"a":1}' }]);

      const { session } = await visitor.mcp(path, token);
      const stream = await visitor.openStream(path, token, session);
      const other = path === "/mcp" ? `/mcp/${OFFICE}` : "/mcp";
      assertEquals((await visitor.mcp(other, token)).status, 401);
      assertEquals((await visitor.renew(tokens)).status, 200);
      const revoked = await visitor.post("/revoke", { token });
      assertEquals(revoked.status, 200);
      await Promise.all(stream);
      assertEquals((await visitor.mcp(path, token)).status, 401);
      assertEquals((await visitor.renew(tokens)).status, 400);
    }
  });
}

test("sign-in #34: a stream ends with its grant, also where the registry's message is lost", async () => {
  await using server = await startSignIn(false, true);
  const visitor = new Visitor(server);
  await using _computer = await joinComputer({
    url: server.url,
    auth: { api_key: "computer-key" },
  });
  const path = `/mcp/${OFFICE}`;
  const { access_token: token } = await visitor.enter(
    { key: "ann-key" },
    { resource: server.url + path },
  );
  const { session } = await visitor.mcp(path, token);
  const stream = await visitor.openStream(path, token, session);
  const revoked = await visitor.post("/revoke", { token });
  assertEquals(revoked.status, 200);
  await Promise.all(stream);
  assertEquals((await visitor.mcp(path, token)).status, 401);
});

test("a made-up token, or one of another secret, wakes no office", async () => {
  await using server = await startSignIn();
  const visitor = new Visitor(server);
  const seals = await Seals.of(new Uint8Array(32));
  const claims = {
    grant: "grant",
    office: "made up",
    resource: "/mcp",
    expiresAt: Date.now() + 60_000,
  };
  const foreign = await seals.seal("access", claims);
  for (const token of ["smcp_at_x.y", foreign]) {
    for (const path of ["/mcp", "/mcp/made%20up"]) {
      const { status } = await visitor.mcp(path, token);
      assertEquals(status, 401);
    }
  }
  const { body } = await operate(server.url, "/status", { token: "boss-key" });
  const nodes: readonly { node: string }[] = body.nodes ?? [];
  assertEquals(nodes.map(({ node }) => node), []);
});
