/**
 * What sign-in keeps, in the memory of one process: all ends with it.
 *
 * @module
 */
import type { Grant, PendingCode, SignInStore, UsedGrant } from "./grant.ts";
import {
  CODE_KEPT_MS,
  dropOldest,
  newSecret,
  readSecret,
  Touches,
} from "./secret.ts";

/** The most codes at a time; then the oldest goes. */
const MAX_CODES = 10_000;

/** Keeps all in memory. */
class MemoryStore implements SignInStore {
  readonly #secret = readSecret(newSecret());
  readonly #codes = new Map<string, PendingCode>();
  readonly #used = new Map<string, { readonly id: string; until: number }>();
  readonly #grants = new Map<
    string,
    { readonly grant: Grant; usedAt: number }
  >();
  readonly #touches = new Touches();

  secret(): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(this.#secret);
  }

  putCode(hash: string, code: PendingCode): Promise<void> {
    dropEnded(this.#codes, ({ expiresAt }) => expiresAt);
    this.#codes.set(hash, code);
    dropOldest(this.#codes, MAX_CODES);
    return Promise.resolve();
  }

  takeCode(hash: string): Promise<PendingCode | undefined> {
    const code = this.#codes.get(hash);
    this.#codes.delete(hash);
    return Promise.resolve(code && isOver(code.expiresAt) ? undefined : code);
  }

  putGrant(grant: Grant, codeHash: string): Promise<void> {
    dropEnded(this.#used, ({ until }) => until);
    dropEnded(this.#grants, ({ grant }) => grant.expiresAt);
    const until = Date.now() + CODE_KEPT_MS;
    this.#used.set(codeHash, { id: grant.id, until });
    dropOldest(this.#used, MAX_CODES);
    this.#grants.set(grant.id, { grant, usedAt: grant.createdAt });
    return Promise.resolve();
  }

  grantOfCode(hash: string): Promise<string | undefined> {
    const used = this.#used.get(hash);
    return Promise.resolve(used && isOver(used.until) ? undefined : used?.id);
  }

  grant(id: string): Promise<Grant | undefined> {
    return Promise.resolve(this.#find(id)?.grant);
  }

  rotate(next: Grant, from: number): Promise<boolean> {
    const row = this.#find(next.id);
    const isDue = row?.grant.number === from;
    if (isDue) this.#grants.set(next.id, { ...row, grant: next });
    return Promise.resolve(isDue);
  }

  touch(id: string, at: number): Promise<void> {
    const row = this.#touches.isDue(id, at) ? this.#find(id) : undefined;
    if (row) row.usedAt = Math.max(row.usedAt, at);
    return Promise.resolve();
  }

  endGrant(id: string): Promise<Grant | undefined> {
    const row = this.#find(id);
    this.#grants.delete(id);
    return Promise.resolve(row?.grant);
  }

  grants(): Promise<readonly UsedGrant[]> {
    dropEnded(this.#grants, ({ grant }) => grant.expiresAt);
    const rows = this.#grants.values();
    return Promise.resolve(
      rows.map(({ grant, usedAt }) => ({ ...grant, usedAt })).toArray(),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #find(id: string) {
    const row = this.#grants.get(id);
    return row && isOver(row.grant.expiresAt) ? undefined : row;
  }
}

/** Makes a store that lasts as long as the process: grants end with it. */
export const memoryStore = (): SignInStore => new MemoryStore();

const isOver = (time: number): boolean => time <= Date.now();

function dropEnded<T>(rows: Map<string, T>, endOf: (row: T) => number): void {
  for (const [key, row] of rows) if (isOver(endOf(row))) rows.delete(key);
}
