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
import { checkNames, type NamesOf } from "../../shared/checks.ts";
import { signInOption } from "../doors/sign_in.ts";
import type { FetchDocument } from "../sign_in/clients.ts";
import type {
  Grant,
  PendingCode,
  SignInStore,
  UsedGrant,
} from "../sign_in/grant.ts";
import {
  personsOfProvider,
  type ProviderPersons,
  type SignInProvider,
} from "../sign_in/provider.ts";
import { checkRedirects } from "../sign_in/redirects.ts";
import { isSeal, Seals } from "../sign_in/seals.ts";
import { readSecret, SECRET_VARIABLE, Touches } from "../sign_in/secret.ts";
import { ServerSignIn } from "../sign_in/sign_in.ts";
import { type Sql, SqlStore } from "../sign_in/sql_store.ts";
import type { WorkerSignIn } from "./door.ts";
import { REGISTRY } from "./object_node.ts";
import type { ObjectStorage } from "./platform.ts";

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
        option: signInOption((host) => new ServerSignIn(host, setup)),
        answer: async (request) => await store.answer(await request.json()),
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

/** The calls of a store that objects send to the registry. */
const CALLS = [
  "putCode",
  "takeCode",
  "putGrant",
  "grantOfCode",
  "grant",
  "rotate",
  "touch",
  "endGrant",
  "grants",
] as const satisfies readonly (keyof SignInStore)[];

type Call = typeof CALLS[number];

const isCall = (name: unknown): name is Call =>
  CALLS.some((call) => call === name);

/** What objects send each other: the name of a call, and its arguments. */
type Message = readonly unknown[];

/** What the registry sends to the other objects when a grant has ended. */
const ENDED: Message = ["ended"];

/** The store of the object that keeps all, and answers the calls of others. */
class KeepingStore extends SqlStore {
  readonly #notify: (message: Message) => void;

  constructor(storage: ObjectStorage, notify: (message: Message) => void) {
    super(sqlOf(storage));
    this.#notify = notify;
  }

  override async endGrant(id: string): Promise<Grant | undefined> {
    const ended = await super.endGrant(id);
    if (ended !== undefined) this.#notify(ENDED);
    return ended;
  }

  /** Answers another object. */
  async answer([call, ...args]: Message): Promise<Response> {
    if (!isCall(call)) return new Response(null, { status: 400 });
    return Response.json([await Reflect.apply(this[call], this, args)]);
  }
}

const sqlOf = (storage: ObjectStorage): Sql => ({
  rows: (statement, ...values) =>
    storage.sql.exec(statement, ...values).toArray(),
  atomically: (work) => storage.transactionSync(work),
  unusable: (reason) =>
    new Error(`Cannot keep sign-ins in the object "${REGISTRY}": ${reason}`),
  close() {}, // the platform does
});

/** How old a grant may be by which an object decides, should the registry's message be lost. */
const MAX_AGE_MS = 30_000;

/** The most grants that an object remembers. */
const MAX_REMEMBERED = 1000;

/** The store of an object that asks the registry, and remembers grants for a time. */
export class AskingStore implements SignInStore {
  readonly #ask: (message: Message) => Promise<Response>;
  readonly #maxAgeMs: number;
  readonly #touches = new Touches();
  readonly #remembered = new Map<string, { grant: Grant; until: number }>();
  readonly #listeners: (() => void)[] = [];

  /** @param ask sends a message to the registry */
  constructor(
    ask: (message: Message) => Promise<Response>,
    maxAgeMs: number = MAX_AGE_MS,
  ) {
    this.#ask = ask;
    this.#maxAgeMs = maxAgeMs;
  }

  secret(): Promise<never> {
    return Promise.reject(new Error("The Worker has the secret"));
  }

  async putCode(hash: string, code: PendingCode): Promise<void> {
    await this.#call("putCode", hash, code);
  }

  takeCode(hash: string): Promise<PendingCode | undefined> {
    return this.#call("takeCode", hash);
  }

  async putGrant(grant: Grant, codeHash: string): Promise<void> {
    await this.#call("putGrant", grant, codeHash);
  }

  grantOfCode(hash: string): Promise<string | undefined> {
    return this.#call("grantOfCode", hash);
  }

  async grant(id: string): Promise<Grant | undefined> {
    const now = Date.now();
    const known = this.#remembered.get(id);
    if (known && now < Math.min(known.until, known.grant.expiresAt)) {
      return known.grant;
    }
    const grant = await this.#call<Grant>("grant", id);
    this.#remembered.delete(id);
    if (grant === undefined) return undefined;
    this.#remembered.set(id, { grant, until: now + this.#maxAgeMs });
    const [oldest] = this.#remembered.size > MAX_REMEMBERED
      ? this.#remembered.keys()
      : [];
    if (oldest !== undefined) this.#remembered.delete(oldest);
    return grant;
  }

  async rotate(next: Grant, from: number): Promise<boolean> {
    this.#remembered.delete(next.id);
    return await this.#call("rotate", next, from) === true;
  }

  async touch(id: string, at: number): Promise<void> {
    if (this.#touches.isDue(id, at)) await this.#call("touch", id, at);
  }

  async endGrant(id: string): Promise<Grant | undefined> {
    this.#remembered.delete(id);
    return await this.#call("endGrant", id);
  }

  async grants(): Promise<readonly UsedGrant[]> {
    return await this.#call("grants") ?? [];
  }

  onEnded(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Takes the registry's message. */
  answer([message]: Message): Promise<Response> {
    if (message !== ENDED[0]) {
      return Promise.resolve(new Response(null, { status: 400 }));
    }
    this.#remembered.clear();
    for (const listener of this.#listeners) listener();
    return Promise.resolve(Response.json([]));
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #call<T>(
    call: Call,
    ...args: readonly unknown[]
  ): Promise<T | undefined> {
    const answer = await this.#ask([call, ...args]);
    if (!answer.ok) {
      await answer.body?.cancel();
      throw new Error(
        `The object "${REGISTRY}", which keeps the sign-ins, answered ${answer.status} to ${call}`,
      );
    }
    const [value]: readonly (T | null)[] = await answer.json();
    return value ?? undefined;
  }
}
