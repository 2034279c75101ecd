import { assert, assertEquals, assertRejects } from "@std/assert";
import { readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  afterRefusal,
  type Refused,
  type SavedAuthorization,
  TokenStore,
} from "../../../../computer/host/oauth/token_store.ts";
import { type LockTimes, withFileLock } from "../../../../shared/file_lock.ts";
import { scratch } from "../../../support/scratch.ts";

const { signal } = new AbortController();

const authorization = (
  client?: string,
  token?: string,
): SavedAuthorization => ({
  ...(client && { client: { client_id: client } }),
  ...(token && {
    tokens: {
      access_token: `access-${token}`,
      refresh_token: token,
      token_type: "bearer",
    },
  }),
});

Deno.test("afterRefusal() removes exactly what was sent, and leaves what is newer", () => {
  const sent = authorization("c1", "t1");
  const rows: [saved: SavedAuthorization, Refused, SavedAuthorization][] = [
    [sent, "tokens", authorization("c1")],
    [sent, "client", {}],
    // another Computer was faster
    [authorization("c1", "t2"), "tokens", authorization("c1", "t2")],
    [authorization("c1", "t2"), "client", authorization("c1", "t2")],
    [authorization("c2", "t2"), "client", authorization("c2", "t2")],
    [authorization("c2", "t1"), "tokens", authorization("c2", "t1")],
    // or removed the tokens, or all
    [authorization("c1"), "tokens", authorization("c1")],
    [authorization("c1"), "client", authorization("c1")],
    [{}, "tokens", {}],
    [{}, "client", {}],
  ];
  for (const [saved, refused, left] of rows) {
    assertEquals(afterRefusal(saved, sent, refused), left);
  }
});

Deno.test("afterRefusal() of any two states never removes tokens that were not sent", () => {
  const names = [undefined, "1", "2"];
  const states = names.flatMap((client) =>
    names.map((token) => authorization(client, token))
  );
  for (const saved of states) {
    for (const sent of states) {
      for (const refused of ["tokens", "client"] as const) {
        const left = afterRefusal(saved, sent, refused);
        const isSent = saved.tokens?.refresh_token ===
            sent.tokens?.refresh_token &&
          saved.client?.client_id === sent.client?.client_id;
        if (isSent) assertEquals(left.tokens, undefined);
        else assertEquals(left, saved);
      }
    }
  }
});

Deno.test("stores of one file change it one after another, and lose nothing", async () => {
  await using folder = await scratch();
  const url = "http://127.0.0.1:9/mcp";
  const stores = Array.from(
    { length: 4 },
    () => new TokenStore(join(folder.path, "oauth"), url),
  );
  let isBusy = false;
  const count = (store: TokenStore) =>
    store.change(async (saved, write) => {
      assertEquals(isBusy, false);
      isBusy = true;
      const number = Number(saved.client?.client_id ?? 0) + 1;
      await write(authorization(`${number}`));
      isBusy = false;
    }, signal);
  await Promise.all([...stores, ...stores, ...stores].map(count));
  for (const store of stores) {
    assertEquals((await store.load()).client?.client_id, "12");
  }
  const [file = "", ...others] = await readdir(join(folder.path, "oauth"));
  assertEquals(others, [], "no lock is left");
  const { mode } = await stat(join(folder.path, "oauth", file));
  assertEquals(mode & 0o777, 0o600);
  await stores[0]?.change((_, write) => write({}), signal);
  assertEquals(await readdir(join(folder.path, "oauth")), []);
});

Deno.test("each client of a configuration has its own file", async () => {
  await using folder = await scratch();
  for (const client of [undefined, null, "one", "two"]) {
    const store = new TokenStore(folder.path, "http://127.0.0.1:9/mcp", client);
    await store.change((_, write) => write(authorization("any")), signal);
  }
  assertEquals((await readdir(folder.path)).length, 3);
});

/** Times with which a test does not wait. */
const QUICK: LockTimes = {
  touchMs: 5,
  lookMs: 1,
  staleLooks: 40,
  waitMs: 60_000,
};

Deno.test("a lock that a process left behind is removed, by one of many that wait", async () => {
  await using folder = await scratch();
  const lock = join(folder.path, "lock");
  await writeFile(lock, "of a process that was killed");
  // The clock of the disk may be ahead.
  const later = new Date(Date.now() + 3_600_000);
  await utimes(lock, later, later);
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await readdir(folder.path);
    running--;
  };
  await Promise.all(
    Array.from({ length: 8 }, () => withFileLock(lock, work, signal, QUICK)),
  );
  assertEquals(most, 1);
  assertEquals(await readdir(folder.path), []);
});

Deno.test("a lock whose holder lives is waited for, but not for ever", async () => {
  await using folder = await scratch();
  const lock = join(folder.path, "lock");
  const end = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holder = withFileLock(
    lock,
    () => {
      held.resolve();
      return end.promise;
    },
    signal,
    QUICK,
  );
  await held.promise;
  const error = await assertRejects(
    () =>
      withFileLock(lock, () => Promise.resolve(), signal, {
        ...QUICK,
        staleLooks: 60_000,
        waitMs: 20,
      }),
    Error,
    "another process has held",
  );
  assert(error.message.includes(lock), "names what to remove");
  const stop = new AbortController();
  const waiting = withFileLock(lock, () => Promise.resolve(), stop.signal);
  stop.abort(new Error("closed"));
  await assertRejects(() => waiting, Error, "closed");
  end.resolve();
  await holder;
  assertEquals(await readdir(folder.path), []);
});
