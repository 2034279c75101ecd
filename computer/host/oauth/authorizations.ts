/**
 * OAuth with MCP servers over HTTP: one session for each address, which renews tokens and asks the
 * user where they must act.
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import {
  type AuthorizationError,
  type Authorizer,
  signInImpossible,
  toAuthorize,
} from "./authorized_fetch.ts";
import type {
  AuthorizationServer,
  Challenge,
  Client,
} from "./authorization_server.ts";
import type { SignIn } from "./sign_in.ts";
import { OutOfReachError } from "./requests.ts";
import {
  afterRefusal,
  type SavedAuthorization,
  TokenStore,
} from "./token_store.ts";
import { log } from "../../util/log.ts";
import { reasonOf } from "../../util/values.ts";
import type { OAuthClientParameters } from "../../../protocol/mod.ts";
import { queue } from "../../../shared/async.ts";
import type { NamesOf } from "../../../shared/checks.ts";

/** A request to the user to authorize the Computer. */
export interface AuthorizationRequest {
  /** The MCP server that needs the authorization. */
  readonly server: string;
  /** The http: or https: page to open in a browser on this machine; keep it private. */
  readonly url: string;
  /** Resolves when the page is no longer needed, whatever the user decided. */
  readonly ended: Promise<void>;
}

/** Options for OAuth with MCP servers over HTTP. */
export interface OAuthOptions {
  /** The directory for tokens, in files that only their owner can read; created when needed. */
  readonly directory: string;
  /** Shows the user the page; must not wait for them. */
  readonly authorize: (request: AuthorizationRequest) => void;
}

/** The names of {@linkcode OAuthOptions}. */
export const OAUTH_NAMES = {
  directory: true,
  authorize: true,
} satisfies NamesOf<OAuthOptions>;

/** How an MCP server is reached. */
interface Place {
  /** Its address. */
  readonly url: string;
  /** The client as which the Computer signs in. */
  readonly oauth?: OAuthClientParameters | null;
}

/** Options of an {@linkcode OAuthSession}. */
interface SessionOptions {
  /** The name of the MCP server. */
  readonly server: string;
  /** How it is reached. */
  readonly place: Place;
  /** Where tokens are kept, and how the user is asked. */
  readonly oauth: OAuthOptions;
  /** Called when the user authorized the Computer. */
  readonly authorized: () => void;
}

/** The authorizations of a Computer, one for each address of an MCP server and its client. */
export class Authorizations {
  readonly #options: Omit<SessionOptions, "server" | "place">;
  readonly #sessions = new Map<string, OAuthSession>();

  /** Creates no session yet. */
  constructor(options: Omit<SessionOptions, "server" | "place">) {
    this.#options = options;
  }

  /** Returns the source of tokens for an MCP server. */
  authorizer(server: string, { url, oauth = null }: Place): Authorizer {
    const key = JSON.stringify([url, oauth]);
    const place = { url, oauth };
    const session = this.#sessions.get(key) ??
      new OAuthSession({ ...this.#options, server, place });
    this.#sessions.set(key, session);
    return session;
  }

  /** The secrets known so far. */
  get secrets(): string[] {
    return [...this.#sessions.values()].flatMap(({ secrets }) => secrets);
  }

  /** Lets users who refused be asked again. */
  askAgain(): void {
    for (const session of this.#sessions.values()) session.askAgain();
  }

  /** Aborts authorizations in progress; resolves when none is left. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    await Promise.all(sessions.map((session) => session.close()));
  }
}

/** Loads what only a sign-in needs. */
const loadServer = () => import("./authorization_server.ts");

/** A sign-in that waits for the user. */
interface Asking {
  readonly signIn: SignIn;
  /** Whether it is for more scopes than there are. */
  readonly isMore: boolean;
  /** Why requests fail meanwhile. */
  readonly problem: AuthorizationError;
  /** Resolves when it has ended. */
  readonly over: Promise<void>;
}

/** How a sign-out ended at the authorization server. */
export type Revocation =
  | "revoked"
  /** It cannot revoke tokens. */
  | "unsupported"
  /** It refused, or was out of reach. */
  | { readonly reason: string };

/**
 * OAuth with one MCP server, by the authorization specification of MCP (protocol §6).
 *
 * Tokens are renewed automatically, with the client that they were issued to. When the user must
 * act, they are asked once; requests fail until the browser returns.
 */
export class OAuthSession implements Authorizer {
  readonly #options: SessionOptions;
  readonly #store: TokenStore;
  readonly #closing = new AbortController();
  /** Runs one renewal, or one question to the user, at a time. */
  readonly #inTurn = queue();
  #renewing: Promise<void> | undefined;
  #asking: Asking | undefined;
  /** Why requests fail after the user, or the authorization server, refused. */
  #refusal: AuthorizationError | undefined;
  /** The scopes that the user was asked for in addition; each is asked for once. */
  readonly #widened = new Set<string>();

  /** Creates an idle session. */
  constructor(options: SessionOptions) {
    const { oauth, place } = options;
    this.#options = options;
    this.#store = new TokenStore(
      oauth.directory,
      place.url,
      place.oauth?.client_id,
    );
  }

  /** The secrets known so far. */
  get secrets(): string[] {
    const { client_secret } = this.#options.place.oauth ?? {};
    return [...this.#store.secrets, ...(client_secret ? [client_secret] : [])];
  }

  /** Whether the user is being asked. */
  get isAsking(): boolean {
    return this.#asking !== undefined;
  }

  /** Resolves when the user is not being asked any more, whatever they decided. */
  async settled(): Promise<void> {
    await this.#asking?.over;
  }

  /** The access token, valid or not. */
  async token(): Promise<string | undefined> {
    return (await this.#store.current()).tokens?.access_token;
  }

  /** Renews the token, or asks the user; concurrent calls share the outcome. */
  renew(...request: Parameters<Authorizer["renew"]>): Promise<void> {
    return this.#renewing ??= this.#inTurn(() => this.#renew(...request))
      .finally(() => this.#renewing = undefined);
  }

  /** Asks the user for the scopes that a refusal names, once for each. */
  async widen(
    refused: string | undefined,
    answer: Response,
    fetch: FetchLike,
  ): Promise<boolean> {
    const { readChallenge } = await loadServer();
    const challenge = readChallenge(answer);
    if (challenge.error !== "insufficient_scope") return false;
    return await this.#inTurn(() => this.#widen(refused, challenge, fetch));
  }

  /** Allows asking the user again after they refused. */
  askAgain(): void {
    if (this.#asking) return;
    this.#refusal = undefined;
    this.#widened.clear();
  }

  /**
   * Revokes the tokens where the authorization server can, and removes them with the registration:
   * one that the server has forgotten would break the next sign-in.
   *
   * @returns undefined when there was nothing to remove
   */
  async signOut(fetch: FetchLike): Promise<Revocation | undefined> {
    const { client, tokens } = await this.#store.load();
    if (!client && !tokens) return undefined;
    return await this.#store.change(async (saved, write) => {
      const revocation = await this.#revoke(saved, fetch);
      await write({});
      return revocation;
    }, this.#closing.signal);
  }

  /** Aborts what is in progress and stops waiting for the user; resolves when nothing is left. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("The Computer was closed"));
    this.#asking?.signIn.close();
    await Promise.allSettled([this.#inTurn(async () => {}), this.settled()]);
  }

  async #renew(
    refused: string | undefined,
    answer: Response,
    fetch: FetchLike,
  ): Promise<void> {
    const { tokens } = await this.#store.load();
    if (tokens && tokens.access_token !== refused) {
      // By another request, or another Computer of this user.
      if (!this.#asking?.isMore) this.#asking?.signIn.close();
      return;
    }
    const isRenewable = tokens?.refresh_token !== undefined;
    if (!isRenewable) this.#throwPending();
    this.#closing.signal.throwIfAborted();
    const { readChallenge } = await loadServer();
    const challenge = readChallenge(answer);
    await this.#explained(async () => {
      const server = await this.#find(challenge, fetch);
      if (isRenewable && await this.#refresh(server, refused)) return;
      this.#throwPending();
      const scopes = this.#scopesOf(server, challenge);
      await this.#ask(server, scopes, isRenewable ? "expired" : "unauthorized");
    });
  }

  async #widen(
    refused: string | undefined,
    challenge: Challenge,
    fetch: FetchLike,
  ): Promise<boolean> {
    const { readScopes } = await loadServer();
    const { tokens } = await this.#store.load();
    if (!tokens) return false;
    if (tokens.access_token !== refused) return true;
    const given = readScopes(tokens.scope);
    const missing = challenge.scopes.filter((scope) => !given.includes(scope));
    if (missing.length === 0) return false;
    if (this.#asking) throw this.#asking.problem;
    // A server that requests the same again after the user agreed would ask without end.
    if (missing.every((scope) => this.#widened.has(scope))) return false;
    for (const scope of missing) this.#widened.add(scope);
    return await this.#explained(async () => {
      const server = await this.#find(challenge, fetch);
      // What was stored by an earlier version has no scope: it got what is asked for first.
      const known = given.length > 0
        ? given
        : this.#scopesOf(server, { scopes: [] });
      const scopes = [...new Set([...known, ...missing])];
      return await this.#ask(server, scopes, "narrow");
    });
  }

  /** Throws why requests fail while the user is asked, or after they refused. */
  #throwPending(): void {
    const problem = this.#asking?.problem ?? this.#refusal;
    if (problem) throw problem;
  }

  /** Logs for the operator why signing in cannot work. */
  async #explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#closing.signal.throwIfAborted();
      const isWaiting = error === this.#asking?.problem ||
        error === this.#refusal;
      if (!isWaiting) {
        log.warn("Cannot sign in to MCP server {server}: {reason}", {
          server: this.#options.server,
          reason: reasonOf(error),
        });
      }
      throw error;
    }
  }

  async #find(
    challenge: Challenge,
    fetch: FetchLike,
  ): Promise<AuthorizationServer> {
    const { AuthorizationServer } = await loadServer();
    const { signal } = this.#closing;
    const { url } = this.#options.place;
    return await AuthorizationServer.ofResource(url, challenge, fetch, signal);
  }

  /** The scopes to ask for first. */
  #scopesOf(
    server: AuthorizationServer,
    { scopes: named }: Challenge,
  ): readonly string[] {
    const { scopes } = this.#options.place.oauth ?? {};
    if (scopes) return scopes;
    return named.length > 0 ? named : server.scopes;
  }

  /**
   * Renews the token while no other Computer does.
   *
   * @returns whether there is another token than the refused one
   * @throws when the token could not be renewed, but may be later
   */
  #refresh(
    server: AuthorizationServer,
    refused: string | undefined,
  ): Promise<boolean> {
    return this.#store.change(async (saved, write) => {
      const { tokens } = saved;
      if (tokens && tokens.access_token !== refused) return true;
      const client = this.#clientOf(saved);
      if (!client || !tokens?.refresh_token) return false;
      if (!server.issued(client) || !server.issued(tokens)) return false;
      const outcome = await this.#tryRefresh(() =>
        server.refresh(client, tokens.refresh_token ?? "")
      );
      if (typeof outcome !== "string") {
        // Without a scope in the renewal, it is unchanged (RFC 6749 §6).
        await write({ ...saved, tokens: { ...tokens, ...outcome } });
        return true;
      }
      // A wrong secret in the configuration costs no token.
      const isConfigured = client !== saved.client;
      if (outcome === "client" && isConfigured) throw clientRefused();
      const now = await this.#store.load();
      const left = afterRefusal(now, saved, outcome);
      if (left !== now) await write(left);
      return left.tokens !== undefined;
    }, this.#closing.signal);
  }

  /** The client of the configuration, or the registered one. */
  #clientOf({ client }: SavedAuthorization): Client | undefined {
    const { client_id, client_secret } = this.#options.place.oauth ?? {};
    return client_id
      ? { client_id, ...(client_secret && { client_secret }) }
      : client;
  }

  async #tryRefresh<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { refusalCode } = await loadServer();
      this.#closing.signal.throwIfAborted();
      if (error instanceof OutOfReachError) throw error;
      throw toAuthorize("unrenewed", { values: refusalCode(error) });
    }
  }

  /** Asks the user; always throws why requests fail meanwhile. */
  async #ask(
    server: AuthorizationServer,
    scopes: readonly string[],
    why: "unauthorized" | "expired" | "narrow",
  ): Promise<never> {
    const { server: name, place, oauth } = this.#options;
    const { SignIn } = await import("./sign_in.ts");
    const { signal } = this.#closing;
    const signIn = await SignIn.start({
      server,
      store: this.#store,
      client: place.oauth ?? {},
      scopes,
      signal,
    });
    const granted = signIn.ended.then(() => true, () => false);
    const problem = why === "narrow"
      ? toAuthorize(why, { values: `scope ${scopes.join(" ")}`, granted })
      : toAuthorize(why);
    const over = signIn.ended.then(
      () => this.#signedIn(),
      (error: unknown) => this.#refused(signIn, error),
    );
    this.#asking = { signIn, isMore: why === "narrow", problem, over };
    if (signal.aborted) signIn.close();
    try {
      oauth.authorize({ server: name, url: signIn.page, ended: over });
    } catch (error) {
      const reason = reasonOf(error);
      log.error("Cannot ask for the authorization of {server}: {reason}", {
        server: name,
        reason,
      });
    }
    throw problem;
  }

  #signedIn(): void {
    this.#asking = undefined;
    this.#refusal = undefined;
    if (!this.#closing.signal.aborted) this.#options.authorized();
  }

  async #refused(signIn: SignIn, error: unknown): Promise<void> {
    const { refusalCode, isClientRefused } = await loadServer();
    const isMore = this.#asking?.isMore;
    this.#asking = undefined;
    if (signIn.isClosed) return;
    const reason = refusalCode(error);
    log.warn("The sign-in to MCP server {server} failed: {reason}", {
      server: this.#options.server,
      reason,
    });
    if (isMore) return; // what it has stays good
    const isConfigured = Boolean(this.#options.place.oauth?.client_id);
    this.#refusal = isConfigured && isClientRefused(error)
      ? clientRefused()
      : toAuthorize("refused", { values: reason });
  }

  async #revoke(
    saved: SavedAuthorization,
    fetch: FetchLike,
  ): Promise<Revocation> {
    if (!saved.tokens) return "unsupported";
    const { AuthorizationServer } = await loadServer();
    const { signal } = this.#closing;
    const { issuer } = saved.tokens;
    try {
      const server = issuer === undefined
        ? await this.#find({ scopes: [] }, fetch)
        : await AuthorizationServer.ofIssuer(issuer, fetch, signal);
      const client = this.#clientOf(saved);
      return await server.revoke({ ...saved, client })
        ? "revoked"
        : "unsupported";
    } catch (error) {
      signal.throwIfAborted();
      return { reason: reasonOf(error) };
    }
  }
}

/** The authorization server does not accept the client of the configuration. */
const clientRefused = (): AuthorizationError =>
  signInImpossible(
    'Its authorization server refuses the client of its "oauth" (invalid_client)',
    'correct "client_id" and "client_secret" in the Computer\'s configuration',
  );
