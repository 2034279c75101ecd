/**
 * Persons of an upstream OpenID provider, which identifies them on pages of its own. What they may
 * use is in the claims of the ID token, as in those of JWTs; it must name their offices, since whoever has
 * an account at a public provider has none here.
 *
 * @module
 */
import type { Refused } from "../auth/authenticator.ts";
import { readClaims } from "../auth/jwt.ts";
import { isSafeIssuer } from "../doors/issuer.ts";
import { checkNames, type NamesOf } from "../../shared/checks.ts";
import { loadPackages } from "../../shared/packages.ts";
import { ExplainedError } from "../shared/log.ts";
import { checkGatewayUse } from "../shared/identity.ts";
import type { Allower } from "./grant.ts";
import type { OidcProvider, OidcSetup, Visit } from "./oidc.ts";
import type { Person, Persons } from "./persons.ts";
import { sha256 } from "./seals.ts";

/** The OpenID provider whose persons sign in, and the client that the Server is there. */
export interface SignInProvider {
  /** Its issuer, a URL of `https`, unless it is on this machine. */
  issuer: string;
  /** The id of the client that is registered there with the redirect URI `PUBLIC_URL/authorize/callback`. */
  clientId: string;
  /** The client's secret; absent for a public client. */
  clientSecret?: string;
}

const PROVIDER_NAMES = {
  issuer: true,
  clientId: true,
  clientSecret: true,
} satisfies NamesOf<SignInProvider>;

/**
 * Checks a provider.
 *
 * @throws {TypeError} for a misspelled option, an issuer that cannot be one, and an empty client; the message
 * never contains the secret
 */
function readProvider(provider: SignInProvider): OidcSetup {
  checkNames(provider, PROVIDER_NAMES, "signIn({ provider })");
  const { issuer, clientId, clientSecret } = provider;
  const url = URL.parse(issuer);
  const isPlain = url !== null && /^https?:$/.test(url.protocol) &&
    !/[?#]/.test(issuer) && url.username + url.password === "";
  if (!isPlain) {
    throw new TypeError(
      "Cannot use the provider's issuer: expected an https:// URL without a query, as its metadata name it",
    );
  }
  if (!isSafeIssuer(issuer)) {
    throw new TypeError(
      "Cannot use the provider's issuer over http, since tokens could be read in transit: expected https",
    );
  }
  if (typeof clientId !== "string" || clientId === "") {
    throw new TypeError(
      "Cannot use the provider without clientId: register this Server there, with the redirect URI PUBLIC_URL/authorize/callback",
    );
  }
  if (clientSecret === "") {
    throw new TypeError(
      "Cannot use an empty clientSecret of the provider: leave it out for a public client",
    );
  }
  return { issuer, clientId, clientSecret };
}

/** What a visit begins with, of which the provider gets a part: who has the cookie makes the rest of it again. */
export interface VisitKey {
  /** Where the provider sends the person back to. */
  readonly redirect: string;
  /** Sealed. */
  readonly state: string;
  /** Random, in the state. */
  readonly visit: string;
  /** The value of the page's cookie, a secret of the browser. */
  readonly cookie: string;
}

/** Those whom a provider knows. */
export class ProviderPersons implements Persons {
  readonly refusal: string;
  /** The host of the provider, for people. */
  readonly host: string;
  readonly #setup: OidcSetup;
  /** What the principals of this provider's persons begin with; no issuer has a `#`. */
  readonly #prefix: string;
  readonly #revoked = new Set<string>();
  #oidc: Promise<OidcProvider> | undefined;

  constructor(setup: OidcSetup) {
    this.#setup = setup;
    this.#prefix = `oidc:${setup.issuer}#`;
    this.host = new URL(setup.issuer).host;
    this.refusal = `${this.host} did not confirm who you are. Try again.`;
  }

  /**
   * Returns where a person goes.
   *
   * @throws {Error} where the provider does not answer
   */
  async begin(key: VisitKey): Promise<string> {
    const oidc = await this.#load();
    return (await oidc.begin(await visitOf(key))).href;
  }

  /**
   * Finds who comes back, and may use an office.
   *
   * @throws {Error} where the provider does not answer
   */
  async find(
    query: URLSearchParams,
    key: VisitKey,
    office: string,
  ): Promise<Person | Refused> {
    const oidc = await this.#load();
    const answer = await oidc.finish(query, await visitOf(key));
    return "refused" in answer ? answer : this.#judge(answer.claims, office);
  }

  /** Until the grant ends by itself: a provider identifies a person once. */
  mayStill(
    { principal }: Allower,
  ): Promise<Pick<Person, "expiresAt"> | undefined> {
    const isOurs = principal.startsWith(this.#prefix);
    return Promise.resolve(
      isOurs && !this.#revoked.has(principal) ? {} : undefined,
    );
  }

  revoke(principal: string): boolean {
    const isOurs = principal.startsWith(this.#prefix);
    if (isOurs) this.#revoked.add(principal);
    return isOurs;
  }

  #judge(
    claims: Readonly<Record<string, unknown>>,
    office: string,
  ): Person | Refused {
    // Here the claim `name` is what a person is called, and restricts nothing.
    const { name: _, ...others } = claims;
    const found = readClaims(others, this.#prefix);
    if ("refused" in found) return found;
    const { principal, policy: { roles, offices } = {} } = found;
    const account = `Your account at ${this.host}`;
    if (this.#revoked.has(principal)) {
      return {
        refused: "the person was revoked by an operator",
        shown: `${account} was revoked by the operator of this Server.`,
      };
    }
    if (!offices?.length || roles && !roles.includes("agent")) {
      return {
        refused: "the ID token is for no office, or not for the role agent",
        shown:
          `${account} is for no office of this Server. Who manages accounts there can change that.`,
      };
    }
    const forbidden = checkGatewayUse(found, office, Date.now());
    return forbidden === undefined ? { by: { principal } } : {
      refused: forbidden,
      shown: `${account} may not use the office ${office}, but ${
        offices.join(", ")
      }.`,
    };
  }

  #load(): Promise<OidcProvider> {
    return this.#oidc ??= loadPackages(
      "ask the provider of sign-in",
      ["oauth4webapi"],
      () => import("./oidc.ts"),
    ).then(({ OidcProvider }) => new OidcProvider(this.#setup))
      .catch((error: unknown) => {
        this.#oidc = undefined;
        // It names the package that is missing.
        const { message } = error instanceof Error ? error : new Error();
        throw new ExplainedError(message, { cause: error });
      });
  }
}

/** Makes what a visit has of its own: the same again, when the person comes back with the cookie. */
const visitOf = async (
  { redirect, state, visit, cookie }: VisitKey,
): Promise<Visit> => ({
  redirect,
  state,
  nonce: await sha256(`nonce ${visit} ${cookie}`),
  verifier: await sha256(`verifier ${visit} ${cookie}`),
});

/**
 * Makes what makes the persons of a provider, once for each Server.
 *
 * @throws {TypeError} as {@linkcode readProvider}
 */
export function personsOfProvider(
  provider: SignInProvider,
): () => ProviderPersons {
  const setup = readProvider(provider);
  return () => new ProviderPersons(setup);
}
