import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../../../server/sign_in/sqlite_store.ts";
import { start } from "../../../support/child.ts";
import { scratch } from "../../../support/scratch.ts";
import {
  newCode,
  newGrant,
  newHash,
  type Stores,
  testStores,
} from "../../../support/sign_in/sign_in_stores.ts";

/** Opens one file twice, as two processes do. */
async function twice(): Promise<Stores> {
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(await scratch());
  const open = async () => stack.use(await sqliteStore(join(path, "s.db")));
  const nodes = [await open(), await open()] as const;
  return {
    nodes,
    async restart() {
      for (const store of nodes) await store[Symbol.asyncDispose]();
      return [await open(), await open()];
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

testStores("a file", twice);

Deno.test("a file and its folder are made, for their owner alone; a file that others may read is closed to them", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "new", "s.db");
  {
    await using store = await sqliteStore(file);
    await store.putGrant(newGrant(), newHash());
    for (const each of [file, `${file}-wal`, `${file}-shm`]) {
      assertEquals(modeOf(await Deno.stat(each)), 0o600, each);
    }
  }
  await Deno.chmod(file, 0o644);
  await using _ = await sqliteStore(file);
  assertEquals(modeOf(await Deno.stat(file)), 0o600);
});

Deno.test("rows whose time has come are deleted with the next ones", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "s.db");
  await using store = await sqliteStore(file);
  const past = Date.now() - 1;
  await store.putCode(newHash(), { ...newCode(), expiresAt: past });
  await store.putGrant(newGrant({ expiresAt: past }), newHash());
  using database = new DatabaseSync(file);
  const rows = (table: string) =>
    database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"];
  await store.putCode(newHash(), newCode());
  assertEquals([rows("sign_in_codes"), rows("sign_in_grants")], [1, 0]);
  assertEquals(rows("sign_in_redeemed"), 1);
  database.exec("UPDATE sign_in_redeemed SET ends = 1");
  await store.putCode(newHash(), newCode());
  assertEquals(rows("sign_in_redeemed"), 0);
});

/** Files that cannot be used, and what is said of them. */
const UNUSABLE: Readonly<
  Record<string, readonly [(file: string) => void, RegExp]>
> = {
  "damaged": [
    (file) => Deno.writeTextFileSync(file, "no database ".repeat(500)),
    /it is damaged, or another kind of file; move it away, and everybody signs in again/,
  ],
  "of a newer version": [
    (file) => {
      using database = new DatabaseSync(file);
      database.exec(
        "UPDATE sign_in_meta SET value = '2' WHERE name = 'version'",
      );
    },
    /its tables are of version 2, and this program reads version 1; update the program/,
  ],
  "a folder": [
    (file) => {
      Deno.removeSync(file);
      Deno.mkdirSync(file);
    },
    /EISDIR|directory/i,
  ],
  "one beside which nothing can be written": [
    (file) => {
      Deno.removeSync(file);
      Deno.mkdirSync(`${file}-journal/full`, { recursive: true });
    },
    /this user may not write beside it; allow that for its folder/,
  ],
};

for (const [kind, [spoil, reason]] of Object.entries(UNUSABLE)) {
  Deno.test(`a file that is ${kind} is an error that names it, and the remedy`, async () => {
    await using folder = await scratch();
    const file = join(folder.path, "s.db");
    await (await sqliteStore(file))[Symbol.asyncDispose]();
    spoil(file);
    const error = await assertRejects(() => sqliteStore(file), Error, file);
    assert(reason.test(error.message), error.message);
  });
}

Deno.test("a file that another program has locked is an error that names it, and is of use again afterwards", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "s.db");
  await using store = await sqliteStore(file);
  const grant = newGrant();
  await store.putGrant(grant, newHash());
  {
    using database = new DatabaseSync(file);
    database.exec("BEGIN IMMEDIATE");
    const end = () => store.endGrant(grant.id);
    const { message } = await assertRejects(end, Error);
    assert(message.includes(file), message);
    assert(message.includes("another program holds it locked"), message);
    // Those who only read do not wait.
    assertEquals(await store.grant(grant.id), grant);
  }
  assertEquals(await store.endGrant(grant.id), grant);
});

Deno.test("a process that is killed while it writes has lost nothing that was answered", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "s.db");
  for (let round = 0; round < 3; round++) {
    await using child = startProgram("write", file);
    await child.line(/^kept 20 /);
    child.signal("SIGKILL");
    await child.status;
    await using store = await sqliteStore(file);
    for (const line of child.lines) {
      const [, number, id = ""] = /^kept (\d+) (\S+)$/.exec(line) ?? [];
      if (number === undefined) continue;
      const grant = await store.grant(id);
      assert(grant && grant.number >= Number(number), line);
    }
  }
});

/** Starts another process that uses a file. */
const startProgram = (...args: readonly string[]) =>
  start(Deno.execPath(), [
    ...["run", "--no-check", "-A", "--config", "tests/deno.json"],
    "tests/support/sign_in/sign_in_writer.ts",
    ...args,
  ], { cwd: new URL("../../../../", import.meta.url) });

Deno.test("sign-in #1: three processes that open a new file at once have one secret, and take each code once", async () => {
  await using folder = await scratch();
  const hashes = Array.from({ length: 300 }, newHash);
  {
    await using store = await sqliteStore(join(folder.path, "codes.db"));
    for (const hash of hashes) await store.putCode(hash, newCode());
  }
  for (const [name, codes] of [["s.db", []], ["codes.db", hashes]] as const) {
    const children = Array.from(
      { length: 3 },
      () => startProgram("race", join(folder.path, name), ...codes),
    );
    for (const child of children) {
      assert((await child.status).success, child.lines.join("\n"));
    }
    const lines = children.flatMap(({ lines }) => lines);
    const of = (kind: string) => lines.filter((line) => line.startsWith(kind));
    assertEquals(new Set(of("secret")).size, 1);
    assertEquals(
      of("took").toSorted(),
      codes.map((hash) => `took ${hash}`).toSorted(),
    );
  }
});

const modeOf = ({ mode }: Deno.FileInfo): number => (mode ?? 0) & 0o777;
