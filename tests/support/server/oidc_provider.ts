/**
 * A real OpenID provider on loopback, with its own pages for login and consent; what it issues can be altered,
 * as by an attacker, and signed with its key.
 *
 * @module
 */
import { createServer, type RequestListener, type Server } from "node:http";
import { assert } from "@std/assert";
import * as jose from "jose";
import Provider from "oidc-provider";

export const CLIENT_ID = "smcp";
export const CLIENT_SECRET = "client-secret-0123456789";

/** What is in the ID tokens of a person. */
export type TestClaims = Readonly<Record<string, unknown>>;

/** The persons, by the name with which they log in. */
export const PERSONS: Readonly<Record<string, TestClaims>> = {
  ann: { office_id: ["home", "lab"], role: "agent", name: "Ann Smith" },
  bob: { office_id: "team-*" },
  cem: { office_id: "north" },
  eve: {},
  pc: { office_id: "home", role: "computer" },
};

/** What of a request and its answer is used here; the package has no types. */
interface TestContext {
  readonly path: string;
  body: unknown;
}

/** How an ID token is altered; returns its text. */
export type Alter = (
  claims: jose.JWTPayload,
  sign: (claims: jose.JWTPayload) => Promise<string>,
) => string | Promise<string>;

export class TestProvider implements AsyncDisposable {
  readonly #server: Server;
  readonly issuer: string;
  /** Alters all that `/token` answers from now on. */
  alter: Alter | undefined;
  /** Answers in place of the provider, where it does. */
  instead: RequestListener | undefined;
  /** The paths of the requests that have come. */
  readonly requests: string[] = [];

  private constructor(server: Server, issuer: string) {
    this.#server = server;
    this.issuer = issuer;
  }

  /** @param redirect where it may send persons back to */
  static async start(redirect: string): Promise<TestProvider> {
    const server = createServer();
    await new Promise<void>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve())
    );
    const address = server.address();
    assert(typeof address === "object" && address !== null);
    // For a browser another site than a Server at 127.0.0.1.
    const issuer = `http://localhost:${address.port}`;
    const started = new TestProvider(server, issuer);
    await started.#serve(redirect);
    return started;
  }

  async #serve(redirect: string): Promise<void> {
    const { privateKey } = await jose.generateKeyPair("RS256", {
      extractable: true,
    });
    const key = { ...await jose.exportJWK(privateKey), kid: "k1" };
    const provider = new Provider(this.issuer, {
      clients: [{
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [redirect],
        response_types: ["code"],
        grant_types: ["authorization_code"],
        application_type: "native",
      }],
      jwks: { keys: [{ ...key, use: "sig", alg: "RS256" }] },
      cookies: { keys: ["cookie-key"] },
      claims: { openid: ["sub", "office_id", "role", "name"] },
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, ...PERSONS[id] }),
      }),
    });
    provider.use(async (ctx: TestContext, next: () => Promise<void>) => {
      await next();
      const body = Object(ctx.body);
      if (ctx.path !== "/token" || !this.alter || !body.id_token) return;
      const sign = (claims: jose.JWTPayload) =>
        new jose.SignJWT(claims).setProtectedHeader({
          alg: "RS256",
          kid: "k1",
        }).sign(privateKey);
      body.id_token = await this.alter(jose.decodeJwt(body.id_token), sign);
      ctx.body = body;
    });
    const answer = provider.callback();
    this.#server.on("request", (request, response) => {
      this.requests.push(request.url?.split("?")[0] ?? "");
      return (this.instead ?? answer)(request, response);
    });
  }

  /**
   * Logs a person in as a browser does that is sent to the provider.
   *
   * @returns where the provider sends the person back to
   */
  async logIn(to: URL, name: string): Promise<URL> {
    const jar = new Map<string, string>();
    let url = to;
    let form: URLSearchParams | undefined;
    for (;;) {
      const answer = await fetch(url, {
        redirect: "manual",
        headers: { cookie: [...jar].map((each) => each.join("=")).join("; ") },
        ...(form && { method: "POST", body: form }),
      });
      const text = await answer.text();
      for (const each of answer.headers.getSetCookie()) {
        const [pair = ""] = each.split(";");
        jar.set(
          pair.slice(0, pair.indexOf("=")),
          pair.slice(pair.indexOf("=") + 1),
        );
      }
      const next = answer.headers.get("location");
      form = undefined;
      if (next !== null) {
        url = new URL(next, url);
        if (url.origin !== this.issuer) return url;
        continue;
      }
      const [, action] = /action="([^"]+)"/.exec(text) ?? [];
      const [, prompt] = /name="prompt" value="([^"]+)"/.exec(text) ?? [];
      assert(action !== undefined, `the provider shows: ${text}`);
      url = new URL(action, url);
      form = new URLSearchParams({
        prompt: prompt ?? "",
        login: name,
        password: "any",
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
