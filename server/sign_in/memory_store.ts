/**
 * What sign-in keeps, in the memory of one process: all ends with it.
 *
 * @module
 */
import type { Grant, PendingCode, SignInStore, UsedGrant } from "./grant.ts";

/** How long is known which code made a grant. */
const USED_CODE_MS = 600_000;

/** The most codes at a time; then the oldest goes. */
const MAX_CODES = 10_000;

/** Keeps all in memory. */
class MemoryStore implements SignInStore {
  readonly #secret = crypto.getRandomValues(new Uint8Array(32));
  readonly #codes = new Map<string, PendingCode>();
  readonly #used = new Map<string, { readonly id: string; until: number }>();
  readonly #grants = new Map<string, UsedGrant>();

  secret(): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(this.#secret);
  }

  putCode(hash: string, code: PendingCode): Promise<void> {
    dropEnded(this.#codes, ({ expiresAt }) => expiresAt);
    this.#codes.set(hash, code);
    dropOldest(this.#codes);
    return Promise.resolve();
  }

  takeCode(hash: string): Promise<PendingCode | undefined> {
    const code = this.#codes.get(hash);
    this.#codes.delete(hash);
    return Promise.resolve(code && isOver(code.expiresAt) ? undefined : code);
  }

  putGrant(grant: Grant, codeHash: string): Promise<void> {
    dropEnded(this.#used, ({ until }) => until);
    dropEnded(this.#grants, ({ expiresAt }) => expiresAt);
    const until = Date.now() + USED_CODE_MS;
    this.#used.set(codeHash, { id: grant.id, until });
    dropOldest(this.#used);
    this.#grants.set(grant.id, { ...grant, usedAt: grant.createdAt });
    return Promise.resolve();
  }

  grantOfCode(hash: string): Promise<string | undefined> {
    const used = this.#used.get(hash);
    return Promise.resolve(used && isOver(used.until) ? undefined : used?.id);
  }

  grant(id: string): Promise<Grant | undefined> {
    return Promise.resolve(this.#find(id));
  }

  rotate(next: Grant, from: number): Promise<boolean> {
    const grant = this.#find(next.id);
    const isDue = grant?.number === from;
    if (isDue) this.#grants.set(next.id, { ...next, usedAt: grant.usedAt });
    return Promise.resolve(isDue);
  }

  touch(id: string, at: number): Promise<void> {
    const grant = this.#find(id);
    if (grant) this.#grants.set(id, { ...grant, usedAt: at });
    return Promise.resolve();
  }

  endGrant(id: string): Promise<Grant | undefined> {
    const grant = this.#find(id);
    this.#grants.delete(id);
    return Promise.resolve(grant);
  }

  grants(): Promise<readonly UsedGrant[]> {
    dropEnded(this.#grants, ({ expiresAt }) => expiresAt);
    return Promise.resolve([...this.#grants.values()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #find(id: string): UsedGrant | undefined {
    const grant = this.#grants.get(id);
    return grant && isOver(grant.expiresAt) ? undefined : grant;
  }
}

/** Makes a store that lasts as long as the process: grants end with it. */
export const memoryStore = (): SignInStore => new MemoryStore();

const isOver = (time: number): boolean => time <= Date.now();

function dropEnded<T>(rows: Map<string, T>, endOf: (row: T) => number): void {
  for (const [key, row] of rows) if (isOver(endOf(row))) rows.delete(key);
}

function dropOldest<T>(rows: Map<string, T>): void {
  const [oldest] = rows.size > MAX_CODES ? rows.keys() : [];
  if (oldest !== undefined) rows.delete(oldest);
}
