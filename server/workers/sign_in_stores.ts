/**
 * What keeps sign-ins on Cloudflare: the registry in its SQL, and the other objects by asking it.
 *
 * @module
 */
import type {
  Grant,
  PendingCode,
  SignInStore,
  UsedGrant,
} from "../sign_in/grant.ts";
import { dropOldest, Touches } from "../sign_in/secret.ts";
import { type Sql, SqlStore } from "../sign_in/sql_store.ts";
import { REGISTRY } from "./object_node.ts";
import type { ObjectStorage } from "./platform.ts";

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
export class KeepingStore extends SqlStore {
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

  /** Does nothing: what ends, ends here. */
  recheck(): void {}

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
    dropOldest(this.#remembered, MAX_REMEMBERED);
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
    this.recheck();
    return Promise.resolve(Response.json([]));
  }

  /** Has all that is open ask the registry again. */
  recheck(): void {
    this.#remembered.clear();
    for (const listener of this.#listeners) listener();
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
