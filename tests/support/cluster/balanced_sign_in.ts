/** Sign-in at Servers behind a balancer, and what programs and a browser send through it. */
import { assertEquals } from "@std/assert";
import { signIn } from "@a2c-smcp/server/sign-in";
import { SmcpComputer } from "../../../computer/mod.ts";
import { mcpGateway } from "../../../mcp/mod.ts";
import { joinCluster } from "../../../server/cluster/mod.ts";
import { apiKeys, createSmcpServer } from "../../../server/mod.ts";
import { fixtureHere } from "../computer/fixture_here.ts";
import { JSON_HEADERS, modernRequest, post } from "../mcp/post.ts";
import { SignInVisitor } from "../server/sign_in.ts";
import { bearer } from "../server/signed_in_server.ts";

const KEYS = [
  { id: "ann", key: "ann-key", roles: ["agent"] },
  { id: "pc", key: "computer-key", roles: ["computer"] },
] as const;

/** Starts a Server that is reached at a public URL; with Redis one of a cluster. */
export async function startPublic(
  publicUrl: string,
  redis?: string,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createSmcpServer({
    ...(redis !== undefined && { cluster: await joinCluster(redis) }),
    authenticator: apiKeys(KEYS),
    gateway: mcpGateway(),
    signIn: signIn(),
    publicUrl,
    trustedProxies: 1,
  });
  const { url } = await server.listen();
  return { url, [Symbol.asyncDispose]: () => server.close() };
}

/** Joins a Computer "pc" of the office "home", with the fixture. */
export async function joinHome(url: string): Promise<SmcpComputer> {
  const computer = new SmcpComputer({
    url,
    name: "pc",
    servers: { fix: fixtureHere({ only: ["echo"] }) },
    auth: { api_key: "computer-key" },
  });
  await computer.connect();
  await computer.join("home");
  await computer.serversSettled();
  return computer;
}

/** Sends what is for a public URL to a balancer, with the name of the host. */
export class BalancedVisitor extends SignInVisitor {
  readonly issuer: string;
  readonly #balancer: string;

  /**
   * @param issuer the public URL
   * @param balancer where it listens
   */
  constructor(issuer: string, balancer: string) {
    super();
    this.issuer = issuer;
    this.#balancer = balancer;
  }

  override request(path: string, init: RequestInit = {}): Promise<Response> {
    return this.fetch(this.issuer + path, init);
  }

  /** Asks for a public URL. */
  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const { host, pathname, search } = new URL(url);
    const sent = new Request("http://unused", { method: "POST", ...init });
    const body = await sent.text();
    const answer = await post(this.#balancer + pathname + search, {
      method: init.method ?? "GET",
      headers: { ...Object.fromEntries(sent.headers), host },
      body,
    });
    const headers = new Headers();
    for (const [name, value = []] of Object.entries(answer.headers)) {
      for (const each of [value].flat()) headers.append(name, each);
    }
    return new Response(answer.body, { status: answer.status, headers });
  }

  /** Finds out what a program does that knows the URL of an office alone; the issuer's metadata. */
  async discover(resource: string): Promise<Record<string, unknown>> {
    const refused = await this.#listTools(resource);
    assertEquals(refused.status, 401);
    const [, at = ""] = /resource_metadata="([^"]*)"/.exec(
      refused.headers.get("www-authenticate") ?? "",
    ) ?? [];
    const named = await (await this.fetch(at)).json();
    assertEquals(named.resource, resource);
    const [issuer] = named.authorization_servers;
    assertEquals(issuer, this.issuer);
    const { origin, pathname } = new URL(issuer);
    const where = `${origin}/.well-known/oauth-authorization-server${
      pathname.replace(/\/$/, "")
    }`;
    return await (await this.fetch(where)).json();
  }

  /** Signs in from nothing but the URL of the office "home"; the names of its tools. */
  async toolsOfHome(): Promise<string[]> {
    const resource = `${this.issuer}/mcp/home`;
    const metadata = await this.discover(resource);
    assertEquals(
      [
        metadata.authorization_endpoint,
        metadata.token_endpoint,
        metadata.registration_endpoint,
      ],
      ["authorize", "token", "register"].map((path) =>
        `${this.issuer}/${path}`
      ),
    );
    const { access_token } = await this.enter({ key: "ann-key" }, { resource });
    const listed = await this.#listTools(resource, bearer(access_token));
    assertEquals(listed.status, 200, await listed.clone().text());
    const { result } = await listed.json();
    return result.tools.map(({ name }: { name: string }) => name);
  }

  #listTools(
    resource: string,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const { body, headers } = modernRequest("tools/list");
    return this.fetch(resource, {
      method: "POST",
      body,
      headers: { ...JSON_HEADERS, ...headers, ...more },
    });
  }
}
