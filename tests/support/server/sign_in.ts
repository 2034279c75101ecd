/** A sign-in on an app of its own, and what a program and a browser do at it. */
import { createHash, randomBytes } from "node:crypto";
import { assert, assertEquals } from "@std/assert";
import { signIn, type SignInOptions } from "@a2c-smcp/server/sign-in";
import { Hono } from "hono";
import { apiKeys } from "../../../server/auth/api_keys.ts";
import {
  makerOf,
  type SignIn,
  type SignInHost,
} from "../../../server/doors/sign_in.ts";
import type { SmcpEnv } from "../../../server/http/http_app.ts";
import type { AuditEvent } from "../../../server/shared/audit.ts";

export const ISSUER = "https://smcp.example";
export const KEY = "ann-key";
const sha256 = (text: string, encoding: "hex" | "base64url") =>
  createHash("sha256").update(text).digest(encoding);

/** A host whose parts a test changes. */
export class TestHost {
  issuer: string | undefined = ISSUER;
  keys: Parameters<typeof apiKeys>[0] = [
    { id: "ann", key: KEY, roles: ["agent"], offices: ["home", "lab"] },
    { id: "pc", key: "computer-key", roles: ["computer"] },
    { id: "team", key: "team-key", roles: ["agent"], offices: ["team-*"] },
  ];
  computers: readonly string[] = ["desk", "laptop"];
  agent: string | undefined;
  readonly audit: AuditEvent[] = [];
  /** How often open requests were checked again. */
  rechecks = 0;

  /** @param hasKeys whether the Server has an authenticator */
  parts(hasKeys = true): SignInHost {
    return {
      gatewayPath: "/mcp",
      issuer: () => this.issuer,
      proxies: 1,
      ...(hasKeys && {
        authenticate: (sent) =>
          Promise.resolve(apiKeys(this.keys).authenticate(sent)),
        find: ({ principal, sha256: hex }) => {
          const key = this.keys.find((each) =>
            `key:${each.id}` === principal && sha256(each.key, "hex") === hex
          );
          return Promise.resolve(
            key === undefined
              ? { refused: "removed" }
              : apiKeys([key]).authenticate({
                headers: { "x-api-key": key.key },
                auth: {},
                address: "",
              }),
          );
        },
      }),
      computersOf: () => Promise.resolve(this.computers),
      agentOf: () => Promise.resolve(this.agent),
      recheck: () => Promise.resolve(void this.rechecks++),
      audit: (event) => void this.audit.push(event),
    };
  }

  /** The names of the lines of the audit log. */
  get events(): string[] {
    return this.audit.map(({ event }) => event);
  }
}

/** A program, as it registered. */
export interface TestClient {
  readonly id: string;
  readonly redirect: string;
}

/** Tokens as `/token` answers. */
export interface TestTokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
}

/** What a person does on the pages. */
export interface Visit {
  readonly key?: string;
  readonly office?: string;
  readonly decision?: "allow" | "deny";
  /** Which Computers are ticked; absent for all that are shown. */
  readonly ticked?: readonly number[];
  readonly later?: boolean;
}

/** What a program and a browser do at a sign-in. */
export abstract class SignInVisitor {
  /** The URL of the Server. */
  abstract readonly issuer: string;

  abstract request(path: string, init?: RequestInit): Promise<Response>;

  post(
    path: string,
    form: Readonly<Record<string, string>> | URLSearchParams,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const body = new URLSearchParams(form);
    return this.request(path, { method: "POST", body, headers });
  }

  async register(
    redirect = "http://127.0.0.1:1234/callback",
    name = "Test",
  ): Promise<TestClient> {
    const answer = await this.request("/register", {
      method: "POST",
      body: JSON.stringify({ client_name: name, redirect_uris: [redirect] }),
    });
    assertEquals(answer.status, 201);
    const { client_id: id } = await answer.json();
    return { id, redirect };
  }

  /** Makes a request of a program. */
  ask(
    client: TestClient,
    over: Readonly<Record<string, string | undefined>> = {},
  ): { readonly path: string; readonly verifier: string } {
    const verifier = randomBytes(32).toString("base64url");
    const parameters = {
      response_type: "code",
      client_id: client.id,
      redirect_uri: client.redirect,
      code_challenge: sha256(verifier, "base64url"),
      code_challenge_method: "S256",
      resource: `${this.issuer}/mcp/home`,
      state: "s+1 /ü",
      scope: "office offline_access",
      ...over,
    };
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== undefined) query.set(name, value);
    }
    return { path: `/authorize?${query}`, verifier };
  }

  /** Opens the page, types the key, chooses Computers, and returns where the last page leads. */
  async visit(path: string, visit: Visit = {}): Promise<URL> {
    const page = await this.openPage(path);
    const second = await page.send({
      key: visit.key ?? KEY,
      ...(visit.office !== undefined && { office: visit.office }),
    });
    const { decision = "allow", later = false } = visit;
    const shown = second.computers;
    const last = await second.send({
      decision,
      ...(later && { later: "1" }),
    }, visit.ticked ?? shown);
    return last.leads;
  }

  async openPage(path: string): Promise<TestPage> {
    const answer = await this.request(path);
    const cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? "";
    return new TestPage(this, answer, await answer.text(), cookie);
  }

  /** Lets a program in; returns its tokens. */
  async enter(
    visit: Visit = {},
    over: Readonly<Record<string, string | undefined>> = {},
    client?: TestClient,
  ): Promise<TestTokens & { readonly client: TestClient }> {
    client ??= await this.register();
    const { path, verifier } = this.ask(client, over);
    const to = await this.visit(path, visit);
    const code = to.searchParams.get("code");
    assert(code, `no code in ${to}`);
    const answer = await this.redeem(code, verifier, client);
    assertEquals(answer.status, 200, await answer.clone().text());
    return { ...await answer.json(), client };
  }

  redeem(
    code: string,
    verifier: string,
    client: TestClient,
    over: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return this.post("/token", {
      grant_type: "authorization_code",
      code,
      code_verifier: verifier,
      client_id: client.id,
      redirect_uri: client.redirect,
      ...over,
    });
  }

  renew(
    { refresh_token }: Pick<TestTokens, "refresh_token">,
    over: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    return this.post("/token", {
      grant_type: "refresh_token",
      refresh_token,
      ...over,
    });
  }
}

/** A sign-in before a test. */
export class SignInBench extends SignInVisitor {
  readonly host: TestHost;
  readonly app = new Hono<SmcpEnv>();
  readonly signIn: SignIn;

  constructor(
    options: SignInOptions = {},
    host: TestHost = new TestHost(),
    hasKeys = true,
  ) {
    super();
    this.host = host;
    this.signIn = makerOf(signIn(options)).start(host.parts(hasKeys));
    this.signIn.mount(this.app);
  }

  override get issuer(): string {
    return this.host.issuer ?? ISSUER;
  }

  override request(path: string, init?: RequestInit): Promise<Response> {
    const { origin } = new URL(this.issuer); // a proxy takes a path off
    return Promise.resolve(this.app.request(`${origin}${path}`, init));
  }

  /** Whom a token lets in at an office, or why not. */
  async admit(token: string, office?: string): Promise<string> {
    const found = await this.signIn.admit(token, office);
    if (found === undefined) return "none";
    return "refused" in found ? found.refused : found.identity.principal;
  }
}

/** A page that the browser shows. */
export class TestPage {
  readonly #bench: SignInVisitor;
  readonly answer: Response;
  readonly text: string;
  readonly cookie: string;

  constructor(
    bench: SignInVisitor,
    answer: Response,
    text: string,
    cookie: string,
  ) {
    this.#bench = bench;
    this.answer = answer;
    this.text = text;
    this.cookie = cookie;
  }

  /** The sealed request of its form. */
  get consent(): string {
    return /name="consent"\s+value="([^"]*)"/.exec(this.text)?.[1] ?? "";
  }

  /** The values of its Computers. */
  get computers(): number[] {
    return [...this.text.matchAll(/name="computer"\s+value="(\d+)"/g)]
      .map(([, at]) => Number(at));
  }

  /** Where it leads by itself. */
  get leads(): URL {
    const [, to = ""] = /http-equiv="refresh"\s+content="0;url=([^"]*)"/
      .exec(this.text) ?? [];
    assert(to !== "", `the page leads nowhere: ${this.text}`);
    return new URL(to.replaceAll("&amp;", "&"));
  }

  /** Sends its form as a browser does. */
  async send(
    fields: Readonly<Record<string, string>> = {},
    ticked: readonly number[] = [],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<TestPage> {
    const form = new URLSearchParams({
      consent: this.consent,
      decision: "allow",
      ...fields,
    });
    for (const at of ticked) form.append("computer", String(at));
    const answer = await this.#bench.post("/authorize", form, {
      cookie: this.cookie,
      origin: new URL(this.#bench.issuer).origin,
      "sec-fetch-site": "same-origin",
      ...headers,
    });
    return new TestPage(this.#bench, answer, await answer.text(), this.cookie);
  }
}

/** `Date.now()`, which goes on when the test says so; until the end of the scope. */
export class TestDate implements Disposable {
  readonly #now = Date.now;
  #passed = 0;

  constructor() {
    Date.now = () => this.#now() + this.#passed;
  }

  pass(ms: number): void {
    this.#passed += ms;
  }

  [Symbol.dispose](): void {
    Date.now = this.#now;
  }
}
