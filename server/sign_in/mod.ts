/**
 * Sign-in for MCP clients that take a URL and no key: the Server is its own OAuth authorization server,
 * and a person with a key lets programs in on a page.
 *
 * ```ts
 * import { mcpGateway } from "@a2c-smcp/sdk/mcp";
 * import { apiKeys, createSmcpServer } from "@a2c-smcp/sdk/server";
 * import { signIn } from "@a2c-smcp/sdk/server/sign-in";
 *
 * await using smcp = createSmcpServer({
 *   authenticator: apiKeys([{ id: "ann", key: crypto.randomUUID() }]),
 *   gateway: mcpGateway(),
 *   signIn: signIn(),
 *   publicUrl: "https://smcp.example.com",
 * });
 * ```
 *
 * @module
 */
import "../../shared/check_runtime.ts";
import { checkNames, type NamesOf } from "../../shared/checks.ts";
import {
  type SignInHost,
  type SignInOption,
  signInOption,
} from "../doors/sign_in.ts";
import { newSignInHost } from "../doors/sign_in_host.ts";
import type { FetchDocument } from "./clients.ts";
import type { SignInStore } from "./grant.ts";
import { personsOfProvider, type SignInProvider } from "./provider.ts";
import { checkRedirects } from "./redirects.ts";
import { readSecret } from "./secret.ts";
import { ServerSignIn } from "./sign_in.ts";

export type { SignInOption } from "../doors/sign_in.ts";
export type { ComputerChoice } from "../../shared/computer_choice.ts";
export type { FetchDocument } from "./clients.ts";
export type {
  Allower,
  ClientFacts,
  Grant,
  PendingCode,
  SignInStore,
  UsedGrant,
} from "./grant.ts";
export type { SignInProvider } from "./provider.ts";
export { memoryStore } from "./memory_store.ts";
export { sqliteStore } from "./sqlite_store.ts";

/** Options of {@linkcode signIn}. */
export interface SignInOptions {
  /**
   * Keeps grants and codes, and is closed with the Server; default in a cluster what its nodes share,
   * otherwise the memory of the process, with which all grants end.
   */
  store?: SignInStore;
  /**
   * The secret of all tokens, at least 32 random bytes in hexadecimal or base64url, such as of the variable
   * `SMCP_SIGN_IN_SECRET`; default one that the store makes and keeps. Another one ends all sign-ins.
   */
  secret?: string;
  /**
   * Lets persons of an OpenID provider sign in, in place of those who have a key, by the offices in the claim
   * `office_id` of their ID tokens; default none.
   */
  provider?: SignInProvider;
  /** Redirect URIs of programs that the rules leave out, such as `"myapp://callback"`; default none. */
  redirects?: readonly string[];
  /**
   * Fetches the metadata documents of programs, without following redirects, in place of the one that
   * connects to public addresses alone; for a network with a proxy.
   */
  fetchDocument?: FetchDocument;
}

const OPTION_NAMES = {
  store: true,
  secret: true,
  provider: true,
  redirects: true,
  fetchDocument: true,
} satisfies NamesOf<SignInOptions>;

/**
 * Makes the option `signIn` of a Server.
 *
 * @throws {TypeError} for a misspelled option, a secret that could be guessed, and a redirect URI or a provider
 * that cannot be one
 */
export function signIn(options: SignInOptions = {}): SignInOption {
  checkNames(options, OPTION_NAMES, "signIn()");
  const { store, redirects = [], fetchDocument } = options;
  checkRedirects(redirects);
  const secret = options.secret === undefined
    ? undefined
    : readSecret(options.secret);
  const provider = options.provider && personsOfProvider(options.provider);
  const setup = { store, secret, provider, redirects, fetchDocument };
  const start = (host: SignInHost) => new ServerSignIn(host, setup);
  return signInOption({ newHost: newSignInHost, start });
}
