/**
 * The sign-in of one Server: connects its parts, and adds their routes.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { cors } from "hono/cors";
import type { Refused } from "../auth/authenticator.ts";
import { METADATA_ROOT } from "../doors/gateway_admission.ts";
import type {
  EndOrder,
  GrantView,
  SignedIn,
  SignIn,
  SignInHost,
} from "../doors/sign_in.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import type { Identity } from "../shared/identity.ts";
import { log, reasonOf } from "../shared/log.ts";
import { AuthorizeEndpoint } from "./pages/authorize.ts";
import { Clients, type FetchDocument, registerClient } from "./clients.ts";
import type { SignInStore } from "./grant.ts";
import { Grants, type SignInParts } from "./grants.ts";
import { memoryStore } from "./memory_store.ts";
import { mountMetadata, Resources, SCOPE } from "./metadata.ts";
import {
  clientOf,
  maxBody,
  NO_STORE,
  OAuthFault,
  SignInTries,
  toErrorResponse,
} from "./oauth.ts";
import { AnyPerson, KeyHolders, type PersonsHere } from "./persons.ts";
import type { ProviderPersons } from "./provider.ts";
import { Seals } from "./seals.ts";
import { TokenEndpoints } from "./tokens.ts";

/** What {@linkcode ServerSignIn} is made of. */
export interface SignInSetup {
  /** Keeps grants and codes; absent for that of all nodes, or the memory of this process. */
  readonly store: SignInStore | undefined;
  /** Seals all; absent for that of the store. */
  readonly secret: Uint8Array<ArrayBuffer> | undefined;
  /** Makes those who sign in at a provider; absent for those who have keys. */
  readonly provider: (() => ProviderPersons) | undefined;
  /** Redirect URIs that are allowed besides. */
  readonly redirects: readonly string[];
  readonly fetchDocument: FetchDocument | undefined;
}

/** Answers where something fails, such as the store: the same request may succeed later. */
function toFailure(error: Error): Response {
  log.error("A request of the sign-in failed: {reason}", reasonOf(error));
  const fault = {
    error: "temporarily_unavailable",
    error_description: "the server cannot answer now; try again",
  };
  const headers = { ...NO_STORE, "Retry-After": "1" };
  return Response.json(fault, { status: 503, headers });
}

/** @throws {TypeError} where anyone could let programs in */
function personsOf(
  { authenticate, find, issuer }: SignInHost,
  { provider }: Pick<SignInSetup, "provider">,
): PersonsHere | ProviderPersons {
  if (provider !== undefined) return provider();
  return authenticate === undefined
    ? new AnyPerson(issuer())
    : new KeyHolders(authenticate, find);
}

/** The sign-in of a Server. */
export class ServerSignIn implements SignIn {
  readonly #host: SignInHost;
  readonly #setup: SignInSetup;
  readonly #resources: Resources;
  readonly #grants: Grants;
  readonly #parts: SignInParts;
  readonly #persons: PersonsHere | ProviderPersons;
  readonly #tries = new SignInTries();
  #store: Promise<SignInStore> | undefined;
  #seals: Promise<Seals> | undefined;

  constructor(host: SignInHost, setup: SignInSetup) {
    this.#host = host;
    this.#setup = setup;
    this.#resources = new Resources(host);
    this.#persons = personsOf(host, setup);
    const { seals, store } = this;
    this.#parts = {
      host,
      store,
      seals,
      resources: this.#resources,
      persons: this.#persons,
    };
    this.#grants = new Grants(this.#parts);
  }

  /** Opens the store once; again after a failure. */
  readonly store = (): Promise<SignInStore> => {
    return this.#store ??= this.#open().catch((error: unknown) => {
      this.#store = undefined;
      throw error;
    });
  };

  /** Returns what seals, with the secret of the store. */
  readonly seals = (): Promise<Seals> => {
    return this.#seals ??= this.#readSecret().catch((error: unknown) => {
      this.#seals = undefined;
      throw error;
    });
  };

  mount(app: Hono<SmcpEnv>): void {
    // For any page: no cookie counts there, and an answer takes a code or a token.
    const open = cors({
      origin: "*",
      allowMethods: ["GET", "POST"],
      exposeHeaders: ["www-authenticate", "retry-after"],
      maxAge: 600,
    });
    const places = [
      `${METADATA_ROOT}/*`,
      "/.well-known/oauth-authorization-server/*",
      "/.well-known/openid-configuration/*",
      "/.well-known/jwks.json",
      `${this.#host.gatewayPath}/.well-known/*`,
      `${this.#host.gatewayPath}/:office/.well-known/*`,
      "/token",
      "/register",
      "/revoke",
    ];
    for (const place of places) app.use(place, open);
    app.onError(toFailure);
    mountMetadata(app, this.#resources, this.#host);
    const { redirects, fetchDocument } = this.#setup;
    const parts = {
      ...this.#parts,
      clients: new Clients(redirects, fetchDocument),
      tries: this.#tries,
      redirects,
      persons: this.#persons,
      grants: this.#grants,
    };
    new AuthorizeEndpoint(parts).mount(app);
    new TokenEndpoints(parts).mount(app);
    app.post("/register", maxBody(16 * 1024), (c) => this.#register(c));
  }

  admit(
    token: string,
    office: string | undefined,
  ): Promise<SignedIn | Refused> | undefined {
    return this.#grants.admit(token, office);
  }

  refresh(identity: Identity): Promise<Identity | Refused> | undefined {
    return this.#grants.refresh(identity);
  }

  challenge(office: string | undefined, hadCredentials: boolean): string {
    return this.#resources.challenge(office, hadCredentials);
  }

  url(): string | undefined {
    return this.#host.issuer() && this.#resources.urlOf(undefined);
  }

  grants(): Promise<readonly GrantView[]> {
    return this.#grants.views();
  }

  end(
    order: EndOrder,
    which: (grant: GrantView) => boolean,
  ): Promise<readonly GrantView[]> {
    return this.#grants.endWhere(order, which);
  }

  async revoke(principal: string, order: EndOrder): Promise<boolean> {
    if (!this.#persons.revoke?.(principal)) return false;
    await this.#grants.endOf(principal, order);
    return true;
  }

  async close(): Promise<void> {
    const store = await this.#store ?? this.#setup.store;
    await store?.[Symbol.asyncDispose]();
  }

  async #open(): Promise<SignInStore> {
    const { recheck, store: shared } = this.#host;
    const store = this.#setup.store ?? await shared?.() ?? memoryStore();
    store.onEnded?.(() => void recheck());
    return store;
  }

  async #readSecret(): Promise<Seals> {
    const own = this.#setup.secret;
    return await Seals.of(own ?? await (await this.store()).secret());
  }

  /** Registers a program, of which nothing is kept (RFC 7591). */
  async #register(c: Context<SmcpEnv>): Promise<Response> {
    const address = clientOf(c, this.#host.proxies);
    try {
      if (this.#tries.isExceeded("register", address)) {
        throw new OAuthFault("temporarily_unavailable", "too many requests");
      }
      this.#tries.count("register", address);
      const data: unknown = await c.req.json().catch(() => undefined);
      const client = registerClient(data, this.#setup.redirects);
      return c.json(
        {
          client_id: client.id,
          client_id_issued_at: Math.floor(Date.now() / 1000),
          ...(client.name !== "" && { client_name: client.name }),
          redirect_uris: client.redirects,
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
          token_endpoint_auth_method: "none",
          scope: SCOPE,
        },
        201,
        NO_STORE,
      );
    } catch (error) {
      if (error instanceof OAuthFault) return toErrorResponse(error);
      throw error;
    }
  }
}
