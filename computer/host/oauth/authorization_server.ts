/**
 * The authorization server of an MCP server, and what a Computer asks of it: a registration, a page
 * for the user, tokens, and their end.
 *
 * Each failure that a person can repair names the field, its value and the remedy. Values are for
 * the user alone, as they may be addresses; Agents get the sentence without them.
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
  OAuthProtectedResourceMetadata,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth";
import { credentialsWanted, signInImpossible } from "./authorized_fetch.ts";
import { OutOfReachError, Requests } from "./requests.ts";
import * as sdk from "./sdk_auth.ts";
import type { Refused, SavedAuthorization } from "./token_store.ts";
import { isRecord } from "../../../protocol/names.ts";
import { redactUrl } from "../../util/secrets.ts";
import { reasonOf } from "../../util/values.ts";

/** The client as which a Computer signs in. */
export type Client = OAuthClientInformationMixed;

/** The challenge of an MCP server that refuses a request. */
export interface Challenge {
  /** The code of the error. */
  readonly error?: string | undefined;
  /** The scopes that the request needs. */
  readonly scopes: readonly string[];
  /** Where its metadata are. */
  readonly resourceMetadataUrl?: URL | undefined;
}

/** Reads the `WWW-Authenticate` of a refusal. */
export function readChallenge(answer: Response): Challenge {
  const { error, scope, resourceMetadataUrl } = sdk
    .extractWWWAuthenticateParams(answer);
  return { error, scopes: readScopes(scope), resourceMetadataUrl };
}

/** Reads a list of scopes, each once; what is no scope by RFC 6749 is left out. */
export const readScopes = (text: string | undefined): string[] => [
  ...new Set(
    (text ?? "").split(" ")
      .filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)),
  ),
];

const REGISTER_BY_HAND =
  'register the Computer there, and set "client_id" in "oauth" of its server_parameters';
const CORRECT_METADATA =
  'have its operator correct that, or set credentials in its "headers"';
const NAME_TENANT =
  'have its operator name the issuer of one tenant in "authorization_servers", with its id in place of "common", or set credentials in its "headers"';

/** The authorization server of an MCP server. */
export class AuthorizationServer {
  /** Identifies it; what is stored for another one is not sent to it. */
  readonly issuer: string;
  /** The scopes of the MCP server. */
  readonly scopes: readonly string[];
  readonly #metadata: AuthorizationServerMetadata | undefined;
  readonly #resource: OAuthProtectedResourceMetadata | undefined;
  readonly #requests: Requests;

  private constructor(
    issuer: string,
    metadata: AuthorizationServerMetadata | undefined,
    resource: OAuthProtectedResourceMetadata | undefined,
    requests: Requests,
  ) {
    this.issuer = issuer;
    this.scopes = resource?.scopes_supported ?? [];
    this.#metadata = metadata;
    this.#resource = resource;
    this.#requests = requests;
  }

  /**
   * Finds the authorization server of an MCP server, which is its own where it names none.
   *
   * @param signal ends this and all later requests
   * @throws {AuthorizationError} that names the field of the metadata which does not fit
   */
  static async ofResource(
    url: string,
    challenge: Challenge,
    fetch: FetchLike,
    signal: AbortSignal,
  ): Promise<AuthorizationServer> {
    const requests = new Requests(fetch, signal);
    const resource = await requests.run(() =>
      findResource(url, challenge, requests.fetch)
    );
    const [named] = resource?.authorization_servers ?? [];
    const issuer = named ?? new URL("/", url).href;
    const metadata = await requests.run(() => findMetadata(issuer, requests));
    // One that is found by the place of the MCP server alone may be another's.
    if (metadata && named && normal(metadata.issuer) !== normal(named)) {
      // Entra's for all tenants is a template: by it no answer could be known as another tenant's.
      throw signInImpossible(
        'The metadata of its authorization server are of another "issuer"',
        /[{}]/.test(metadata.issuer) ? NAME_TENANT : CORRECT_METADATA,
        `${redactUrl(metadata.issuer)}, not ${redactUrl(named)}`,
      );
    }
    return new AuthorizationServer(issuer, metadata, resource, requests);
  }

  /** Finds an authorization server by its issuer. */
  static async ofIssuer(
    issuer: string,
    fetch: FetchLike,
    signal: AbortSignal,
  ): Promise<AuthorizationServer> {
    const requests = new Requests(fetch, signal);
    const metadata = await requests.run(() => findMetadata(issuer, requests));
    return new AuthorizationServer(issuer, metadata, undefined, requests);
  }

  /** Returns whether what is stored was issued here; of what has no issuer that is assumed. */
  issued({ issuer }: { readonly issuer?: string | undefined }): boolean {
    return issuer === undefined || normal(issuer) === normal(this.issuer);
  }

  /**
   * Registers the Computer.
   *
   * @throws {AuthorizationError} with the reason why it could not
   */
  async register(redirectUrl: string, scope: string): Promise<Client> {
    if (this.#metadata && !this.#metadata.registration_endpoint) {
      throw signInImpossible(
        'Its authorization server registers no clients (it has no "registration_endpoint")',
        REGISTER_BY_HAND,
        redactUrl(this.issuer),
      );
    }
    const clientMetadata = {
      client_name: "A2C-SMCP Computer",
      application_type: "native",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
    try {
      const client = await this.#requests.run(() =>
        sdk.registerClient(this.issuer, {
          ...this.#common,
          clientMetadata,
          ...(scope !== "" && { scope }),
        })
      );
      return { ...client, issuer: this.issuer };
    } catch (error) {
      if (!isRefusal(error) && invalidField(error) === undefined) throw error;
      // A server with no metadata at all needs other credentials than those of OAuth.
      if (!this.#metadata && !this.#resource) throw credentialsWanted();
      throw signInImpossible(
        `Its authorization server refused to register the Computer (${
          refusalCode(error)
        })`,
        REGISTER_BY_HAND,
        quote(error),
      );
    }
  }

  /** @throws {AuthorizationError} when the server takes no address of a document in place of an id */
  checkDocument(): void {
    if (this.#metadata?.client_id_metadata_document_supported === true) return;
    throw signInImpossible(
      'Its authorization server takes no address of a document as "client_id" (it has no "client_id_metadata_document_supported")',
      'set the "client_id" of a client that is registered there, or leave it out',
      redactUrl(this.issuer),
    );
  }

  /**
   * Makes the address of the page on which the user decides.
   *
   * @returns the address, and the secret that proves later who asked
   * @throws {AuthorizationError} when the server has no such page
   */
  async page(
    client: Client,
    request: {
      readonly redirectUrl: string;
      readonly state: string;
      readonly scope: string;
    },
  ): Promise<{ readonly url: string; readonly verifier: string }> {
    const { redirectUrl, state, scope } = request;
    const made = await sdk.startAuthorization(this.issuer, {
      ...this.#common,
      clientInformation: client,
      redirectUrl,
      state,
      ...(scope !== "" && { scope }),
    }).catch((error: unknown) => {
      throw signInImpossible(
        'Its authorization server cannot be used (by "response_types_supported" or "code_challenge_methods_supported" of its metadata)',
        CORRECT_METADATA,
        reasonOf(error),
      );
    });
    const { authorizationUrl: url, codeVerifier: verifier } = made;
    // The system would open any other scheme with the program registered for it.
    if (/^https?:$/.test(url.protocol)) return { url: url.href, verifier };
    throw signInImpossible(
      `The "authorization_endpoint" of its authorization server is not a web page (${url.protocol})`,
      CORRECT_METADATA,
    );
  }

  /**
   * Checks who sent the code: that of another authorization server must not be exchanged here (RFC 9207).
   *
   * @param named the issuer that came with the code, if one did
   * @throws {AuthorizationError} when it is not this server
   */
  checkIssuer(named: string | null): void {
    const {
      issuer = this.issuer,
      authorization_response_iss_parameter_supported: isNamed,
    }: Record<string, unknown> = { ...this.#metadata };
    if (named === null ? isNamed !== true : named === issuer) return;
    throw signInImpossible(
      named === null
        ? 'The answer of its authorization server has no "iss", which its metadata promises'
        : 'The answer came from another authorization server (by its "iss")',
      CORRECT_METADATA,
      named ?? undefined,
    );
  }

  /** Exchanges the code from the browser for tokens. */
  exchange(
    client: Client,
    request: {
      readonly authorizationCode: string;
      readonly codeVerifier: string;
      readonly redirectUri: string;
    },
  ): Promise<OAuthTokens> {
    return this.#tokens(() =>
      sdk.exchangeAuthorization(this.issuer, {
        ...this.#common,
        ...request,
        clientInformation: client,
      })
    );
  }

  /**
   * Renews tokens.
   *
   * @returns the new ones, or what the server no longer accepts
   */
  async refresh(
    client: Client,
    refreshToken: string,
  ): Promise<OAuthTokens | Refused> {
    try {
      return await this.#tokens(() =>
        sdk.refreshAuthorization(this.issuer, {
          ...this.#common,
          clientInformation: client,
          refreshToken,
        })
      );
    } catch (error) {
      if (error instanceof sdk.InvalidGrantError) return "tokens";
      if (isClientRefused(error)) return "client";
      throw error;
    }
  }

  /**
   * Revokes tokens.
   *
   * @returns whether the server can do that
   * @throws when it refuses, or is out of reach
   */
  async revoke({ client, tokens }: SavedAuthorization): Promise<boolean> {
    const { revocation_endpoint: endpoint } = this.#revocation;
    if (typeof endpoint !== "string" || !client) return false;
    for (const kind of ["refresh_token", "access_token"] as const) {
      const token = tokens?.[kind];
      if (token === undefined) continue;
      await this.#requests.run(() =>
        this.#revoke(endpoint, client, { token, token_type_hint: kind })
      );
    }
    return true;
  }

  /** The metadata with fields that their type lacks. */
  get #revocation(): Record<string, unknown> {
    return { ...this.#metadata };
  }

  async #revoke(
    endpoint: string,
    client: Client,
    token: Record<string, string>,
  ): Promise<void> {
    const { client_id, client_secret = "" } = client;
    const { revocation_endpoint_auth_methods_supported: methods } =
      this.#revocation;
    const body = new URLSearchParams(token);
    const headers = new Headers();
    const method = sdk.selectClientAuthMethod(
      client,
      Array.isArray(methods) ? methods.map(String) : [],
    );
    if (method === "client_secret_basic") {
      headers.set(
        "authorization",
        `Basic ${btoa(`${client_id}:${client_secret}`)}`,
      );
    } else body.set("client_id", client_id);
    if (method === "client_secret_post") {
      body.set("client_secret", client_secret);
    }
    const response = await this.#requests.fetch(endpoint, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
  }

  async #tokens(work: () => Promise<OAuthTokens>): Promise<OAuthTokens> {
    const tokens = await this.#requests.run(work);
    return { ...tokens, issuer: this.issuer };
  }

  /** Options of all requests. */
  get #common() {
    return {
      fetchFn: this.#requests.fetch,
      ...(this.#metadata && { metadata: this.#metadata }),
      // As it is written: servers compare it as a text.
      ...(this.#resource && { resource: this.#resource.resource }),
    };
  }
}

/** Finds the metadata of an MCP server; undefined where it has none. */
async function findResource(
  url: string,
  { resourceMetadataUrl }: Challenge,
  fetch: FetchLike,
): Promise<OAuthProtectedResourceMetadata | undefined> {
  const found = await sdk.discoverOAuthProtectedResourceMetadata(
    url,
    resourceMetadataUrl && { resourceMetadataUrl },
    fetch,
  ).catch(() => undefined); // then the MCP server is its own authorization server
  const expected = new URL(url);
  expected.hash = "";
  const isOther = found && !sdk.checkResourceAllowed({
    requestedResource: expected,
    configuredResource: found.resource,
  });
  if (!isOther) return found;
  throw signInImpossible(
    'Its metadata are of another "resource" than its "url"',
    'set "url" to that resource in the Computer\'s configuration, or have its operator correct the metadata',
    `${redactUrl(found.resource)}, not ${redactUrl(expected.href)}`,
  );
}

/** Finds the metadata of an authorization server; undefined where it has none. */
async function findMetadata(
  issuer: string,
  requests: Requests,
): Promise<AuthorizationServerMetadata | undefined> {
  try {
    const found = await sdk.discoverAuthorizationServerMetadata(issuer, {
      fetchFn: requests.fetch,
    });
    // The MCP SDK does not distinguish that from a server without metadata.
    if (!found && requests.isTrouble) throw new OutOfReachError();
    return found;
  } catch (error) {
    const flaw = invalidField(error);
    if (flaw === undefined) throw error;
    throw signInImpossible(
      `The metadata of its authorization server are invalid${flaw}`,
      CORRECT_METADATA,
      redactUrl(issuer),
    );
  }
}

/** Names the field of an invalid answer; undefined for any other error. */
function invalidField(error: unknown): string | undefined {
  if (error instanceof SyntaxError) return "";
  if (!isRecord(error) || !Array.isArray(error.issues)) return undefined;
  const [issue] = error.issues;
  const path = isRecord(issue) && Array.isArray(issue.path) ? issue.path : [];
  return path.length === 0 ? "" : ` ("${path.join(".")}")`;
}

/** Returns whether an error is about the client itself. */
export const isClientRefused = (error: unknown): boolean =>
  error instanceof sdk.InvalidClientError ||
  error instanceof sdk.UnauthorizedClientError;

const isRefusal = (error: unknown): error is sdk.OAuthError =>
  error instanceof sdk.OAuthError;

/** Returns the code of a refusal, in a word: its description may quote what was sent. */
export function refusalCode(error: unknown): string {
  const flaw = invalidField(error);
  if (flaw !== undefined) return `invalid answer${flaw}`;
  if (!isRefusal(error)) return reasonOf(error);
  // The status, where the answer was not one of OAuth.
  const [status] = /^HTTP \d+/.exec(error.message) ?? [];
  return status ?? error.errorCode;
}

const MAX_QUOTED = 200;

/** Quotes how a refusal is explained, in one line. */
function quote(error: unknown): string | undefined {
  if (!isRefusal(error)) return undefined;
  const text = reasonOf(error).replaceAll(/\s+/g, " ").trim();
  const isOwn = text === "" || text.startsWith("HTTP ");
  return isOwn ? undefined : text.slice(0, MAX_QUOTED);
}

/** Writes an issuer as URLs are written, without a final slash. */
const normal = (issuer: string): string =>
  (URL.canParse(issuer) ? new URL(issuer).href : issuer).replace(/\/$/, "");
