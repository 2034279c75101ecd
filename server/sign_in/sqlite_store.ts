/**
 * What sign-in keeps, in a file, by `node:sqlite` of Deno, Node and Bun.
 *
 * @module
 */
import * as fs from "node:fs/promises";
import { dirname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { ExplainedError } from "../shared/log.ts";
import type { SignInStore } from "./grant.ts";
import { type Sql, type SqlRow, SqlStore, type SqlValue } from "./sql_store.ts";

/** How long a statement waits for another process, which holds up this one. */
const BUSY_MS = 2000;

/** The same while a file is opened, when several processes may make its tables. */
const OPENING_MS = 5000;

/**
 * Opens a file that keeps sign-ins, which only its owner can read; several processes may share it.
 *
 * @param file made where it is missing, with its folder
 * @throws {Error} that names the file and the remedy
 */
export async function sqliteStore(file: string): Promise<SignInStore> {
  const { DatabaseSync } = await loadSqlite(file);
  try {
    await makePrivate(file);
    const database = new SqliteFile(file, new DatabaseSync(file));
    try {
      const store = new SqlStore(database.prepared());
      database.waits(BUSY_MS);
      return store;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw unusable(file, error);
  }
}

async function loadSqlite(file: string): Promise<typeof import("node:sqlite")> {
  try {
    return await import("node:sqlite");
  } catch (error) {
    throw new Error(
      `Cannot keep sign-ins in ${file}: this runtime has no node:sqlite; update to Node.js 22.13, Deno 2.2 or a Bun that has it, or leave the file out and keep them in memory`,
      { cause: error },
    );
  }
}

/** SQLite gives the files beside it the mode of the file. */
async function makePrivate(file: string): Promise<void> {
  await fs.mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const handle = await fs.open(file, "a", 0o600);
  try {
    const { mode } = await handle.stat();
    if (mode & 0o077) await handle.chmod(0o600);
  } finally {
    await handle.close();
  }
}

/** A database in a file. */
class SqliteFile implements Sql {
  readonly #file: string;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string, database: DatabaseSync) {
    this.#file = file;
    this.#database = database;
  }

  /** Sets how it is written. */
  prepared(): this {
    // First the time, since the next one may have to wait for another process.
    this.waits(OPENING_MS);
    this.rows("PRAGMA journal_mode = WAL");
    // An answer is on the disk: with numbers of before a crash, good refresh tokens would look stolen.
    this.rows("PRAGMA synchronous = FULL");
    return this;
  }

  /** Sets how long it waits for another process. */
  waits(milliseconds: number): void {
    this.rows(`PRAGMA busy_timeout = ${milliseconds}`);
  }

  rows(statement: string, ...values: readonly SqlValue[]): readonly SqlRow[] {
    try {
      return this.#statement(statement).all(...values);
    } catch (error) {
      throw unusable(this.#file, error);
    }
  }

  unusable(reason: string): Error {
    return unusable(this.#file, reason);
  }

  atomically(work: () => void): void {
    this.rows("BEGIN IMMEDIATE");
    try {
      work();
      this.rows("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.rows("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #statement(text: string): StatementSync {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }
}

/** An error that names the file. */
class FileError extends ExplainedError {}

/** What SQLite reports, and the remedy. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /not a database|malformed/i,
    "it is damaged, or another kind of file; move it away, and everybody signs in again",
  ],
  [
    /locked|busy/i,
    "another program holds it locked, such as a backup or an editor of databases; end that one",
  ],
  [
    /unable to open|readonly/i,
    "this user may not write beside it; allow that for its folder, and what is in it",
  ],
  [/disk is full/i, "make room"],
];

function unusable(file: string, cause: unknown): Error {
  if (cause instanceof FileError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const [, remedy] = REMEDIES.find(([sign]) => sign.test(reason)) ?? [];
  const text = remedy ? `${remedy} (${reason})` : reason;
  return new FileError(`Cannot keep sign-ins in ${file}: ${text}`, { cause });
}
