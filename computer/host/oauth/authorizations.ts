/**
 * OAuth with MCP servers over HTTP: one session for each address, which renews tokens and asks the
 * user where they must act.
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import type { OAuthClientInformationMixed } from "@modelcontextprotocol/sdk/shared/auth";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth";
import { randomUUID } from "node:crypto";
import {
  AuthorizationError,
  type Authorizer,
  credentialsWanted,
  toAuthorize,
} from "./authorized_fetch.ts";
import {
  listenForRedirect,
  type RedirectListener,
} from "./redirect_listener.ts";
import { TokenStore } from "./token_store.ts";
import { log } from "../../util/log.ts";
import { reasonOf } from "../../util/values.ts";

/** A request to the user to authorize the Computer. */
export interface AuthorizationRequest {
  /** The MCP server that needs the authorization. */
  readonly server: string;
  /** The http: or https: page to open in a browser on this machine; keep it private. */
  readonly url: string;
}

/** Options for OAuth with MCP servers over HTTP. */
export interface OAuthOptions {
  /** The directory for tokens, in files that only their owner can read; created when needed. */
  readonly directory: string;
  /** Shows the user the page; must not wait for them. */
  readonly authorize: (request: AuthorizationRequest) => void;
}

/** What an {@linkcode OAuthSession} depends on. */
interface SessionOptions {
  /** The name of the MCP server. */
  readonly server: string;
  /** Its address. */
  readonly url: string;
  /** Where tokens are kept, and how the user is asked. */
  readonly oauth: OAuthOptions;
  /** Called when the user authorized the Computer. */
  readonly authorized: () => void;
}

/** The authorizations of a Computer, one for each address of an MCP server. */
export class Authorizations {
  readonly #options: Omit<SessionOptions, "server" | "url">;
  readonly #sessions = new Map<string, OAuthSession>();

  /** Creates no session yet. */
  constructor(options: Omit<SessionOptions, "server" | "url">) {
    this.#options = options;
  }

  /** Returns the source of tokens for an MCP server. */
  authorizer(server: string, url: string): Authorizer {
    const session = this.#sessions.get(url) ??
      new OAuthSession({ ...this.#options, server, url });
    this.#sessions.set(url, session);
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

/**
 * OAuth with one MCP server, by the authorization specification of MCP (spec §6).
 *
 * Tokens are renewed automatically. When the user must act, they are asked once, and nothing waits
 * for them: requests fail until the browser returns.
 */
export class OAuthSession implements Authorizer {
  readonly #options: SessionOptions;
  readonly #store: TokenStore;
  #renewing: Promise<void> | undefined;
  /** Exchanges the code from the browser. */
  #exchanging: Promise<void> | undefined;
  #listener: RedirectListener | undefined;
  /** Why requests fail while the user is asked, and after they refused. */
  #problem: AuthorizationError | undefined;
  readonly #closing = new AbortController();

  /** Creates an idle session. */
  constructor(options: SessionOptions) {
    this.#options = options;
    this.#store = new TokenStore(options.oauth.directory, options.url);
  }

  /** The secrets known so far. */
  get secrets(): string[] {
    return this.#store.secrets;
  }

  /** The access token, valid or not. */
  async token(): Promise<string | undefined> {
    return (await this.#store.current()).tokens?.access_token;
  }

  /** Renews the token, or asks the user; concurrent calls share the outcome. */
  renew(...request: Parameters<Authorizer["renew"]>): Promise<void> {
    return this.#renewing ??= this.#renew(...request)
      .finally(() => this.#renewing = undefined);
  }

  /** Allows asking the user again after they refused. */
  askAgain(): void {
    if (!this.#listener) this.#problem = undefined;
  }

  /** Aborts what is in progress and stops waiting for the user; resolves when nothing is left. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("The Computer was closed"));
    this.#stopListening();
    await Promise.allSettled([this.#renewing, this.#exchanging]);
  }

  #stopListening(): void {
    this.#listener?.close();
    this.#listener = undefined;
  }

  async #renew(
    refused: string | undefined,
    answer: Response,
    fetch: FetchLike,
  ): Promise<void> {
    const { server, url: serverUrl, oauth, authorized } = this.#options;
    const { signal } = this.#closing;
    const { auth, extractWWWAuthenticateParams } = await import(
      "./sdk_auth.ts"
    );
    const { client, tokens } = await this.#store.load();
    // Renewed meanwhile by another request, or another Computer of this user.
    if (tokens && tokens.access_token !== refused) return;
    if (this.#problem) throw this.#problem;
    signal.throwIfAborted();
    const state = randomUUID();
    const listener = await listenAsRegistered(state, client) ??
      await listenForRedirect(state, 0);
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(answer);
    // Whether the authorization server was unreachable, or failed itself.
    let isTrouble = false;
    const fetchFn: FetchLike = async (url, init) => {
      const signals = init?.signal ? [init.signal, signal] : [signal];
      isTrouble = true;
      const response = await fetch(url, {
        ...init,
        signal: AbortSignal.any(signals),
      });
      isTrouble = response.status >= 500;
      return response;
    };
    const exchange = {
      serverUrl,
      fetchFn,
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
      ...(scope !== undefined && { scope }),
    };
    let page: URL | undefined;
    const provider = this.#provider(listener, state, (url) => page = url);
    try {
      await auth(provider, exchange);
      signal.throwIfAborted();
    } catch (error) {
      listener.close();
      if (signal.aborted) throw signal.reason;
      if (isTrouble) {
        throw new Error("Its authorization server is out of reach");
      }
      if (error instanceof AuthorizationError) throw error;
      const kind = error instanceof Error ? error.name : typeof error;
      log.warn(
        "An MCP server wants authorization, but OAuth with it failed ({kind})",
        { kind },
      );
      throw credentialsWanted();
    }
    if (!page) return listener.close();
    this.#problem = toAuthorize(
      tokens?.refresh_token === undefined ? "unauthorized" : "expired",
    );
    this.#listener = listener;
    const failedAtPage = () => {
      this.#problem = toAuthorize("refused");
      this.#stopListening();
    };
    listener.code.then((authorizationCode) => {
      if (signal.aborted) return;
      this.#exchanging = auth(provider, { ...exchange, authorizationCode })
        .then(() => {
          this.#problem = undefined;
          this.#stopListening();
          if (!signal.aborted) authorized();
        }, failedAtPage);
    }, failedAtPage);
    try {
      oauth.authorize({ server, url: page.href });
    } catch (error) {
      const reason = reasonOf(error);
      log.error("Cannot ask for the authorization of {server}: {reason}", {
        server,
        reason,
      });
    }
    throw this.#problem;
  }

  #provider(
    { url }: RedirectListener,
    state: string,
    ask: (url: URL) => void,
  ): OAuthClientProvider {
    const store = this.#store;
    let verifier = "";
    return {
      redirectUrl: url,
      clientMetadata: {
        client_name: "A2C-SMCP Computer",
        redirect_uris: [url],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      },
      state: () => state,
      clientInformation: async () => {
        const { client } = await store.current();
        // A registration is valid for one redirect address only.
        return redirectOf(client) === url ? client : undefined;
      },
      saveClientInformation: (client) => store.save({ client }),
      tokens: async () => (await store.current()).tokens,
      saveTokens: (tokens) => store.save({ tokens }),
      saveCodeVerifier: (value) => void (verifier = value),
      codeVerifier: () => verifier,
      invalidateCredentials: async (scope) => {
        const isGone = (what: string) => scope === "all" || scope === what;
        await store.save({
          ...(isGone("client") && { client: undefined }),
          ...(isGone("tokens") && { tokens: undefined }),
        });
      },
      redirectToAuthorization: async (page) => {
        // The MCP SDK asks the user even when only the authorization server fails.
        const { tokens } = await store.current();
        if (tokens?.refresh_token) throw toAuthorize("unrenewed");
        // The system would open any other scheme with the program registered for it.
        if (!/^https?:$/.test(page.protocol)) {
          log.warn(
            "An MCP server wants to be authorized at an address that is no web page ({scheme})",
            { scheme: page.protocol },
          );
          throw credentialsWanted();
        }
        ask(page);
      },
    };
  }
}

/** Listens on the registered redirect address; undefined when its port is taken. */
async function listenAsRegistered(
  state: string,
  client: OAuthClientInformationMixed | undefined,
): Promise<RedirectListener | undefined> {
  const url = redirectOf(client);
  if (url === undefined) return undefined;
  try {
    return await listenForRedirect(state, Number(new URL(url).port));
  } catch {
    return undefined; // taken
  }
}

const redirectOf = (
  client: OAuthClientInformationMixed | undefined,
): string | undefined =>
  client && "redirect_uris" in client ? client.redirect_uris[0] : undefined;
