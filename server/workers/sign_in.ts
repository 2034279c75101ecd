/**
 * Sign-in on Cloudflare: the registry's object keeps what is kept, in its SQL, and serves the pages; those of
 * offices ask it; and the Worker opens tokens by the secret alone, so that a made-up one wakes no office.
 *
 * ```ts
 * import { mcpGateway } from "@a2c-smcp/sdk/mcp";
 * import { apiKeys, parseApiKeys, smcpWorker } from "@a2c-smcp/sdk/server/workers";
 * import { signIn } from "@a2c-smcp/sdk/server/workers/sign-in";
 *
 * type Env = { SMCP_KEYS: string; SMCP_SIGN_IN_SECRET: string };
 * const { worker, Front, Office } = smcpWorker((env: Env) => ({
 *   authenticator: apiKeys(parseApiKeys(env.SMCP_KEYS)),
 *   gateway: mcpGateway(),
 *   publicUrl: "https://smcp.example.com",
 *   signIn: signIn({ secret: env.SMCP_SIGN_IN_SECRET }),
 * }));
 * export { Front, Office, worker as default };
 * ```
 *
 * @module
 */
import "../../shared/check_runtime.ts";
import { checkNames, type NamesOf } from "../../shared/checks.ts";
import { signInOption } from "../doors/sign_in.ts";
import { newSignInHost } from "../doors/sign_in_host.ts";
import type { FetchDocument } from "../sign_in/clients.ts";
import {
  personsOfProvider,
  type ProviderPersons,
  type SignInProvider,
} from "../sign_in/provider.ts";
import { checkRedirects } from "../sign_in/redirects.ts";
import { isSeal, Seals } from "../sign_in/seals.ts";
import { readSecret, SECRET_VARIABLE } from "../sign_in/secret.ts";
import { ServerSignIn } from "../sign_in/sign_in.ts";
import type { WorkerSignIn } from "./door.ts";
import { AskingStore, KeepingStore } from "./sign_in_stores.ts";

export type { ObjectSignIn, SignInPlace, WorkerSignIn } from "./door.ts";
export type { FetchDocument } from "../sign_in/clients.ts";
export type { SignInProvider } from "../sign_in/provider.ts";

/** What {@linkcode openIdProvider} returns, for the option `provider`. */
export interface WorkerProvider {
  /** Names it. */
  readonly kind: "openid-provider";
}

const providers = new WeakMap<WorkerProvider, () => ProviderPersons>();

/**
 * Makes the option `provider` of {@linkcode signIn}. It is apart, so that bundles of others go without it.
 *
 * @throws {TypeError} for a misspelled option, an issuer that cannot be one, and an empty client
 */
export function openIdProvider(options: SignInProvider): WorkerProvider {
  const provider: WorkerProvider = { kind: "openid-provider" };
  providers.set(provider, personsOfProvider(options));
  return provider;
}

/** @throws {TypeError} when it is not of {@linkcode openIdProvider} */
function personsOf(provider: WorkerProvider): () => ProviderPersons {
  const persons = providers.get(provider);
  if (persons !== undefined) return persons;
  throw new TypeError(
    "Cannot use the option provider: expected what openIdProvider() of @a2c-smcp/sdk/server/workers/sign-in returns",
  );
}

/** Options of {@linkcode signIn}. */
export interface WorkerSignInOptions {
  /**
   * The secret of all tokens, at least 32 random bytes in hexadecimal or base64url: the Worker's secret
   * `SMCP_SIGN_IN_SECRET`. Another one ends all sign-ins.
   */
  secret: string | undefined;
  /**
   * Lets persons of an OpenID provider sign in, in place of those who have a key, by the offices in the claim
   * `office_id` of their ID tokens: {@linkcode openIdProvider}; default none.
   */
  provider?: WorkerProvider;
  /** Redirect URIs of programs that the rules leave out, such as `"myapp://callback"`; default none. */
  redirects?: readonly string[];
  /** Fetches the metadata documents of programs, without following redirects; default the platform's fetch. */
  fetchDocument?: FetchDocument;
}

const OPTION_NAMES = {
  secret: true,
  provider: true,
  redirects: true,
  fetchDocument: true,
} satisfies NamesOf<WorkerSignInOptions>;

/**
 * Makes the option `signIn` of `smcpWorker()`.
 *
 * @throws {TypeError} for a misspelled option, a secret that could be guessed, and a redirect URI or a provider
 * that cannot be one
 */
export function signIn(options: WorkerSignInOptions): WorkerSignIn {
  checkNames(options, OPTION_NAMES, "signIn()");
  const { redirects = [], fetchDocument } = options;
  checkRedirects(redirects);
  const secret = readSecret(
    options.secret ?? "",
    `the secret ${SECRET_VARIABLE}`,
  );
  const provider = options.provider && personsOf(options.provider);
  let seals: Promise<Seals> | undefined;
  return {
    officeOf(token) {
      if (!isSeal(token)) return undefined;
      seals ??= Seals.of(secret);
      return seals.then((all) => officeOf(token, all));
    },
    at(place) {
      const store = "storage" in place
        ? new KeepingStore(place.storage, place.notify)
        : new AskingStore(place.ask);
      const setup = { secret, provider, redirects, fetchDocument, store };
      return {
        option: signInOption({
          newHost: newSignInHost,
          start: (host) => new ServerSignIn(host, setup),
        }),
        answer: async (request) => await store.answer(await request.json()),
        recheck: () => store.recheck(),
      };
    },
  };
}

async function officeOf(
  token: string,
  seals: Seals,
): Promise<string | undefined> {
  const claims = await seals.open("access", token);
  return claims && claims.expiresAt > Date.now() ? claims.office : undefined;
}
