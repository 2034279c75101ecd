/**
 * One request to the user to sign in: the page to open, the redirect that is awaited, and the code
 * that is exchanged for tokens.
 *
 * What is stored stays until the new tokens are there: an attempt that is not finished, or for which
 * the Computer registers again, costs no token.
 *
 * @module
 */
import type { OAuthClientInformationMixed } from "@modelcontextprotocol/sdk/shared/auth";
import { randomUUID } from "node:crypto";
import { signInImpossible } from "./authorized_fetch.ts";
import {
  type AuthorizationServer,
  type Client,
  readScopes,
} from "./authorization_server.ts";
import {
  listenForRedirect,
  type RedirectAnswer,
  type RedirectListener,
} from "./redirect_listener.ts";
import type { SavedAuthorization, TokenStore } from "./token_store.ts";
import type { OAuthClientParameters } from "../../../protocol/mod.ts";

/** Options of a {@linkcode SignIn}. */
interface SignInOptions {
  /** The authorization server. */
  readonly server: AuthorizationServer;
  /** Where the tokens go. */
  readonly store: TokenStore;
  /** The client of the configuration. */
  readonly client: OAuthClientParameters;
  /** The scopes to ask for. */
  readonly scopes: readonly string[];
  /** Ends waiting for the file. */
  readonly signal: AbortSignal;
}

/** A client, and the listener at its redirect address. */
interface Registration {
  readonly client: Client;
  /** The stored part: never a secret of the configuration. */
  readonly kept: Client;
  readonly listener: RedirectListener;
}

/** A sign-in that waits for the user. */
export class SignIn {
  /** The page to open; keep it private. */
  readonly page: string;
  /** Resolves when the tokens are stored; rejects when there will be none. */
  readonly ended: Promise<void>;
  /** Whether it was ended before the user decided. */
  isClosed = false;
  readonly #listener: RedirectListener;
  readonly #closed = Promise.withResolvers<never>();
  #exchanging: Promise<void> = Promise.resolve();

  private constructor(
    page: string,
    listener: RedirectListener,
    exchange: (answer: RedirectAnswer) => Promise<void>,
  ) {
    this.page = page;
    this.#listener = listener;
    const exchanged = listener.answer
      .then((answer) => this.#exchanging = exchange(answer));
    this.ended = Promise.race([this.#closed.promise, exchanged])
      .finally(async () => {
        listener.close();
        await this.#exchanging.catch(() => {});
      });
    this.ended.catch(() => {}); // may be unobserved
  }

  /**
   * Listens for the redirect, and registers the Computer where it has to.
   *
   * @throws {AuthorizationError} when that cannot work
   */
  static async start(options: SignInOptions): Promise<SignIn> {
    const { server, store, signal } = options;
    const scope = options.scopes.join(" ");
    const state = randomUUID();
    const { client, kept, listener } = await registerClient(options, state);
    const redirectUrl = listener.url;
    try {
      const request = { redirectUrl, state, scope };
      const { url, verifier } = await server.page(client, request);
      return new SignIn(url, listener, async ({ code, issuer }) => {
        server.checkIssuer(issuer);
        const tokens = await server.exchange(client, {
          authorizationCode: code,
          codeVerifier: verifier,
          redirectUri: redirectUrl,
        });
        // A server that grants what was asked for need not say it (RFC 6749 §5.1).
        const granted = tokens.scope ?? scope;
        await store.change(
          (_, write) =>
            write({
              client: kept,
              tokens: { ...tokens, ...(granted !== "" && { scope: granted }) },
            }),
          signal,
        );
      });
    } catch (error) {
      listener.close();
      throw error;
    }
  }

  /** Stops waiting; `ended` rejects. */
  close(): void {
    this.isClosed = true;
    this.#listener.close();
    this.#closed.reject(new Error("The sign-in was ended"));
  }
}

/** Finds the client of a sign-in, and listens at its redirect address. */
async function registerClient(
  options: SignInOptions,
  state: string,
): Promise<Registration> {
  const { server, store, signal, client: configured } = options;
  const { client_id, client_secret, callback_port } = configured;
  if (client_id) {
    if (isDocument(client_id)) server.checkDocument();
    return {
      listener: await listenAsConfigured(state, callback_port),
      client: { client_id, ...(client_secret && { client_secret }) },
      kept: { client_id },
    };
  }
  const saved = await store.load();
  const registered = await listenAsRegistered(saved, options, state);
  if (registered) return registered;
  const listener = await listenAsConfigured(state, callback_port);
  try {
    const client = await server.register(
      listener.url,
      options.scopes.join(" "),
    );
    // Kept for the next attempt, unless there are tokens that need the one before.
    await store.change(
      ({ tokens }, write) => tokens ? Promise.resolve() : write({ client }),
      signal,
    );
    return { client, kept: client, listener };
  } catch (error) {
    listener.close();
    throw error;
  }
}

/** Whether the id of a client is the address of a document about it. */
export const isDocument = (clientId: string): boolean =>
  /^https:\/\//i.test(clientId);

/**
 * Listens at the redirect address of the stored registration.
 *
 * Undefined where it cannot be used again: for another server or port, for fewer scopes, or because
 * its port is taken. Servers may compare the port, though RFC 8252 §7.3 forbids it, so that the
 * Computer then registers again.
 */
async function listenAsRegistered(
  { client }: SavedAuthorization,
  { server, scopes, client: { callback_port } }: SignInOptions,
  state: string,
): Promise<Registration | undefined> {
  const url = client && localRedirectUri(client);
  if (!client || url === undefined || !server.issued(client)) return undefined;
  const { hostname, port } = new URL(url);
  const known = "scope" in client ? readScopes(client.scope) : scopes;
  const isFit = scopes.every((scope) => known.includes(scope)) &&
    (!callback_port || Number(port) === callback_port);
  if (!isFit) return undefined;
  try {
    const host = hostname === "localhost" ? hostname : "127.0.0.1";
    const listener = await listenForRedirect(state, Number(port), host);
    return { client, kept: client, listener };
  } catch {
    return undefined; // taken
  }
}

const localRedirectUri = (
  client: OAuthClientInformationMixed,
): string | undefined =>
  "redirect_uris" in client ? client.redirect_uris[0] : undefined;

/** Listens at the port of the configuration, or at any. */
async function listenAsConfigured(
  state: string,
  port: number | null | undefined,
): Promise<RedirectListener> {
  if (!port) return await listenForRedirect(state, 0);
  try {
    return await listenForRedirect(state, port, "localhost");
  } catch {
    throw signInImpossible(
      `The port ${port} of "callback_port" in its "oauth" is taken by another program`,
      "end that program, or set another port",
    );
  }
}
