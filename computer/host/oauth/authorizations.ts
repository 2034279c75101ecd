import { reasonOf } from "../../util/values.ts";
import { log } from "../../util/log.ts";
import type { Authorizer } from "./authorized_fetch.ts";
import { OAuthSession } from "./oauth_session.ts";
import { TokenStore } from "./token_store.ts";

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

/** The authorizations of a Computer, one for each address of an MCP server. */
export class Authorizations {
  readonly #options: OAuthOptions;
  readonly #authorized: () => void;
  readonly #sessions = new Map<
    string,
    { session: OAuthSession; store: TokenStore }
  >();

  /** @param authorized called when the user authorized the Computer for an MCP server */
  constructor(options: OAuthOptions, authorized: () => void) {
    this.#options = options;
    this.#authorized = authorized;
  }

  /** Returns the source of tokens for an MCP server. */
  authorizer(server: string, serverUrl: string): Authorizer {
    const known = this.#sessions.get(serverUrl);
    if (known) return known.session;
    const { directory, authorize } = this.#options;
    const store = new TokenStore(directory, serverUrl);
    const session = new OAuthSession({
      serverUrl,
      store,
      ask: (url) => {
        try {
          authorize({ server, url });
        } catch (error) {
          log.error("Cannot ask for the authorization of {server}: {reason}", {
            server,
            reason: reasonOf(error),
          });
        }
      },
      authorized: this.#authorized,
    });
    this.#sessions.set(serverUrl, { session, store });
    return session;
  }

  /** The secrets known so far. */
  get secrets(): string[] {
    return [...this.#sessions.values()].flatMap(({ store }) => store.secrets);
  }

  /** Lets users who refused be asked again. */
  askAgain(): void {
    for (const { session } of this.#sessions.values()) session.askAgain();
  }

  /** Aborts authorizations in progress; resolves when none is left. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    await Promise.all(sessions.map(({ session }) => session.close()));
  }
}
