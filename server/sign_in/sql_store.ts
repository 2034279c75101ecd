/**
 * What sign-in keeps, in the SQL of SQLite: in a file, or in the storage of a Durable Object.
 *
 * @module
 */
import type { Grant, PendingCode, SignInStore, UsedGrant } from "./grant.ts";
import { CODE_KEPT_MS, newSecret, readSecret, Touches } from "./secret.ts";

/** A value of a column or a parameter. */
export type SqlValue = string | number;

/** A row of an answer, by the names of its columns. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** A database of SQLite. */
export interface Sql {
  /** Makes an error that names the database. */
  unusable(reason: string): Error;
  /**
   * Runs one statement, and returns its rows.
   *
   * @throws {Error} that names the database, and the remedy where there is one
   */
  rows(statement: string, ...values: readonly SqlValue[]): readonly SqlRow[];
  /** Runs work of which all statements take effect, or none. */
  atomically(work: () => void): void;
  /** Closes it. */
  close(): void;
}

/** The version of the tables; a newer one has others. */
const VERSION = 1;

/** Times are milliseconds since 1970; `data` is JSON. */
const TABLES = [
  "CREATE TABLE IF NOT EXISTS sign_in_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
  "CREATE TABLE IF NOT EXISTS sign_in_codes (hash TEXT PRIMARY KEY, data TEXT NOT NULL, ends INTEGER NOT NULL)",
  "CREATE TABLE IF NOT EXISTS sign_in_redeemed (hash TEXT PRIMARY KEY, grant_id TEXT NOT NULL, ends INTEGER NOT NULL)",
  "CREATE TABLE IF NOT EXISTS sign_in_grants (id TEXT PRIMARY KEY, number INTEGER NOT NULL, data TEXT NOT NULL, used INTEGER NOT NULL, ends INTEGER NOT NULL)",
];

/** Those with rows whose time comes. */
const EXPIRING = ["sign_in_codes", "sign_in_redeemed", "sign_in_grants"];

/** Grants and codes in tables: each statement is one step, which one caller alone takes. */
export class SqlStore implements SignInStore {
  readonly #sql: Sql;
  readonly #touches = new Touches();

  /** @throws {Error} when the tables are of another version */
  constructor(sql: Sql) {
    this.#sql = sql;
    for (const table of TABLES) sql.rows(table);
    const version = Number(this.#keepMeta("version", String(VERSION)));
    if (version !== VERSION) {
      throw sql.unusable(
        `its tables are of version ${version}, and this program reads version ${VERSION}; update the program, or name another file`,
      );
    }
    this.#sweep();
  }

  // deno-lint-ignore require-await -- what throws rejects
  async secret(): Promise<Uint8Array<ArrayBuffer>> {
    return readSecret(this.#keepMeta("secret", newSecret()), "the store");
  }

  // deno-lint-ignore require-await -- what throws rejects
  async putCode(hash: string, code: PendingCode): Promise<void> {
    this.#sweep();
    this.#sql.rows(
      "INSERT INTO sign_in_codes (hash, data, ends) VALUES (?, ?, ?)",
      hash,
      JSON.stringify(code),
      code.expiresAt,
    );
  }

  // deno-lint-ignore require-await -- what throws rejects
  async takeCode(hash: string): Promise<PendingCode | undefined> {
    const [row] = this.#sql.rows(
      "DELETE FROM sign_in_codes WHERE hash = ? AND ends > ? RETURNING data",
      hash,
      Date.now(),
    );
    return row && JSON.parse(String(row["data"]));
  }

  // deno-lint-ignore require-await -- what throws rejects
  async putGrant(grant: Grant, codeHash: string): Promise<void> {
    const { id, number, createdAt, expiresAt } = grant;
    this.#sweep();
    this.#sql.atomically(() => {
      this.#sql.rows(
        "INSERT INTO sign_in_grants (id, number, data, used, ends) VALUES (?, ?, ?, ?, ?)",
        id,
        number,
        JSON.stringify(grant),
        createdAt,
        expiresAt,
      );
      this.#sql.rows(
        "INSERT INTO sign_in_redeemed (hash, grant_id, ends) VALUES (?, ?, ?)",
        codeHash,
        id,
        Date.now() + CODE_KEPT_MS,
      );
    });
  }

  // deno-lint-ignore require-await -- what throws rejects
  async grantOfCode(hash: string): Promise<string | undefined> {
    const [row] = this.#sql.rows(
      "SELECT grant_id FROM sign_in_redeemed WHERE hash = ? AND ends > ?",
      hash,
      Date.now(),
    );
    return row && String(row["grant_id"]);
  }

  // deno-lint-ignore require-await -- what throws rejects
  async grant(id: string): Promise<Grant | undefined> {
    const [row] = this.#sql.rows(
      "SELECT data FROM sign_in_grants WHERE id = ? AND ends > ?",
      id,
      Date.now(),
    );
    return row && toGrant(row);
  }

  // deno-lint-ignore require-await -- what throws rejects
  async rotate(next: Grant, from: number): Promise<boolean> {
    const changed = this.#sql.rows(
      "UPDATE sign_in_grants SET number = ?, data = ?, ends = ? WHERE id = ? AND number = ? AND ends > ? RETURNING id",
      next.number,
      JSON.stringify(next),
      next.expiresAt,
      next.id,
      from,
      Date.now(),
    );
    return changed.length === 1;
  }

  // deno-lint-ignore require-await -- what throws rejects
  async touch(id: string, at: number): Promise<void> {
    if (!this.#touches.isDue(id, at)) return;
    this.#sql.rows(
      "UPDATE sign_in_grants SET used = ? WHERE id = ? AND used < ?",
      at,
      id,
      at,
    );
  }

  // deno-lint-ignore require-await -- what throws rejects
  async endGrant(id: string): Promise<Grant | undefined> {
    const [row] = this.#sql.rows(
      "DELETE FROM sign_in_grants WHERE id = ? AND ends > ? RETURNING data",
      id,
      Date.now(),
    );
    return row && toGrant(row);
  }

  // deno-lint-ignore require-await -- what throws rejects
  async grants(): Promise<readonly UsedGrant[]> {
    const rows = this.#sql.rows(
      "SELECT data, used FROM sign_in_grants WHERE ends > ? ORDER BY id",
      Date.now(),
    );
    return rows.map((row) => ({
      ...toGrant(row),
      usedAt: Number(row["used"]),
    }));
  }

  // deno-lint-ignore require-await -- what throws rejects
  async [Symbol.asyncDispose](): Promise<void> {
    this.#sql.close();
  }

  /** Keeps a value unless there is one; returns the one that is kept. */
  #keepMeta(name: string, value: string): string {
    this.#sql.rows(
      "INSERT INTO sign_in_meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING",
      name,
      value,
    );
    const [row] = this.#sql.rows(
      "SELECT value FROM sign_in_meta WHERE name = ?",
      name,
    );
    return String(row?.["value"]);
  }

  /** Deletes rows whose time has come: with each new one, so that no timer is needed. */
  #sweep(): void {
    for (const table of EXPIRING) {
      this.#sql.rows(`DELETE FROM ${table} WHERE ends <= ?`, Date.now());
    }
  }
}

const toGrant = (row: SqlRow): Grant => JSON.parse(String(row["data"]));
