/**
 * The code flow of OpenID Connect at one provider, by `oauth4webapi`: it checks the issuer of all answers, the
 * audience, nonce and times of ID tokens, and their signature by the provider's keys.
 *
 * @module
 */
import * as oauth from "oauth4webapi";
import type { Refused } from "../auth/authenticator.ts";
import { isSafeIssuer } from "../doors/issuer.ts";
import { ExplainedError, quote } from "../shared/log.ts";
import { bounded } from "../../shared/net/public_fetch.ts";

/** The client that a Server is at its provider. */
export interface OidcSetup {
  /** The provider's issuer, without a final slash that it does not have. */
  readonly issuer: string;
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret: string | undefined;
}

/** What one person's visit to the provider has of its own. */
export interface Visit {
  /** Where the provider sends the person back to. */
  readonly redirect: string;
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
}

/** Who a person is, by the claims of the ID token. */
interface Claims {
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A request that `oauth4webapi` sends. */
type Sent = oauth.CustomFetchOptions<string, URLSearchParams | undefined>;

/** Milliseconds for all requests of a step. */
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 512 * 1024;
/** Milliseconds after which the provider's metadata are read again. */
const FRESH_MS = 3_600_000;

/** The errors of answers that are wrong; others are failures of the provider, or of its setup. */
const REFUSALS: ReadonlySet<string> = new Set([
  oauth.AUTHORIZATION_RESPONSE_ERROR,
  oauth.INVALID_RESPONSE,
  oauth.JWT_CLAIM_COMPARISON,
  oauth.JWT_TIMESTAMP_CHECK,
  oauth.KEY_SELECTION,
  oauth.UNSUPPORTED_OPERATION,
]);

const CLIENT_REMEDY =
  "check the client's id, its secret and its redirect URI there";

/** A provider, with what is known of it. */
export class OidcProvider {
  readonly #issuer: URL;
  readonly #client: oauth.Client;
  readonly #secret: string | undefined;
  readonly #keys: oauth.JWKSCacheInput = {};
  #metadata: Promise<oauth.AuthorizationServer> | undefined;
  #readAt = -Infinity;

  constructor({ issuer, clientId, clientSecret }: OidcSetup) {
    this.#issuer = new URL(issuer);
    this.#client = { client_id: clientId };
    this.#secret = clientSecret;
  }

  /**
   * Returns where a person goes.
   *
   * @throws {Error} where the provider does not answer
   */
  async begin({ redirect, state, nonce, verifier }: Visit): Promise<URL> {
    const metadata = await this.#read();
    const { authorization_endpoint: page = "" } = metadata;
    if (!/^https?:/i.test(page) || !isSafeIssuer(page)) {
      const why = "its metadata have no authorization_endpoint of https";
      throw this.#failed(new Error(why));
    }
    const url = new URL(page);
    const parameters = {
      response_type: "code",
      client_id: this.#client.client_id,
      redirect_uri: redirect,
      scope: "openid",
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) {
      url.searchParams.set(name, value);
    }
    return url;
  }

  /**
   * Redeems the code in the query with which the provider sends a person back.
   *
   * @throws {Error} where the provider does not answer, or rejects this client
   */
  async finish(
    query: URLSearchParams,
    visit: Visit,
  ): Promise<Claims | Refused> {
    const metadata = await this.#read();
    try {
      return await this.#redeem(metadata, query, visit);
    } catch (error) {
      const why = refusalOf(error);
      if (why === undefined) throw this.#failed(error);
      return { refused: `the provider's answer was refused: ${why}` };
    }
  }

  async #redeem(
    metadata: oauth.AuthorizationServer,
    query: URLSearchParams,
    { redirect, state, nonce, verifier }: Visit,
  ): Promise<Claims> {
    const client = this.#client;
    const options = this.#options();
    const answer = await oauth.authorizationCodeGrantRequest(
      metadata,
      client,
      this.#proofFor(metadata),
      oauth.validateAuthResponse(metadata, client, query, state),
      redirect,
      verifier,
      options,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(
      metadata,
      client,
      answer,
      { expectedNonce: nonce, requireIdToken: true },
    );
    await oauth.validateApplicationLevelSignature(metadata, answer, {
      ...options,
      [oauth.jwksCache]: this.#keys,
    });
    return { claims: { ...oauth.getValidatedIdTokenClaims(tokens) } };
  }

  /** Chooses how the client proves who it is: as the provider offers it, which is Basic by default. */
  #proofFor(
    { token_endpoint_auth_methods_supported: methods }:
      oauth.AuthorizationServer,
  ): oauth.ClientAuth {
    if (this.#secret === undefined) return oauth.None();
    return (methods ?? ["client_secret_basic"]).includes("client_secret_basic")
      ? oauth.ClientSecretBasic(this.#secret)
      : oauth.ClientSecretPost(this.#secret);
  }

  /** Reads the metadata: once for all who wait, and again after an hour or a failure. */
  #read(): Promise<oauth.AuthorizationServer> {
    const now = Date.now();
    if (this.#metadata === undefined || now - this.#readAt > FRESH_MS) {
      this.#readAt = now;
      this.#metadata = this.#discover().catch((error: unknown) => {
        this.#metadata = undefined;
        throw this.#failed(error);
      });
    }
    return this.#metadata;
  }

  async #discover(): Promise<oauth.AuthorizationServer> {
    const answer = await oauth.discoveryRequest(this.#issuer, this.#options());
    return await oauth.processDiscoveryResponse(this.#issuer, answer);
  }

  /** Explains a failure to the operator; of the provider's answer it has the code of an error alone. */
  #failed(error: unknown): ExplainedError {
    const { message } = error instanceof Error ? error : new Error();
    const why = error instanceof oauth.ResponseBodyError
      ? `it answers ${quote(error.error)}; ${CLIENT_REMEDY}`
      : error instanceof oauth.WWWAuthenticateChallengeError
      ? `it rejects the client; ${CLIENT_REMEDY}`
      : message;
    const text = `Cannot ask ${this.#issuer.href}: ${why}`;
    return new ExplainedError(text, { cause: error });
  }

  #options():
    & oauth.DiscoveryRequestOptions
    & oauth.TokenEndpointRequestOptions {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return {
      signal,
      [oauth.customFetch]: async (
        url: string,
        { body, ...init }: Sent,
      ) => {
        const answer = await fetch(url, { ...init, ...(body && { body }) });
        return await bounded(answer, MAX_BYTES);
      },
      // One on this machine alone, by the check of the option.
      [oauth.allowInsecureRequests]: this.#issuer.protocol === "http:",
    };
  }
}

/** Returns why an answer is refused, without anything of it; `undefined` for a failure. */
function refusalOf(error: unknown): string | undefined {
  if (error instanceof oauth.AuthorizationResponseError) {
    return `error ${error.error}`;
  }
  if (error instanceof oauth.ResponseBodyError) {
    return error.error === "invalid_grant" ? "invalid_grant" : undefined;
  }
  const { code, message }: { code?: unknown; message?: unknown } = Object(
    error,
  );
  return typeof code === "string" && REFUSALS.has(code)
    ? String(message)
    : undefined;
}
