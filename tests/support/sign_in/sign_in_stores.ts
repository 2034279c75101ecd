/**
 * The contract of stores of sign-in, as tests that each implementation passes.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type {
  Grant,
  PendingCode,
  SignInStore,
} from "../../../server/sign_in/grant.ts";

/** Stores of several nodes that keep the same. */
export interface Stores extends AsyncDisposable {
  readonly nodes: readonly [SignInStore, SignInStore];
  /** Whether it keeps no secret. */
  readonly hasNoSecret?: boolean;
  /** Ends all, and opens them again; absent where nothing outlasts the process. */
  restart?(): Promise<readonly [SignInStore, SignInStore]>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let made = 0;

/** Makes a grant that nothing else has. */
export function newGrant(over: Partial<Grant> = {}): Grant {
  const now = Date.now();
  return {
    id: `grant-${crypto.randomUUID()}`,
    by: { principal: "key:ada", keySha256: "ab".repeat(32) },
    office: "home",
    resource: "/mcp/home",
    client: { id: `client-${++made}`, name: "Cläude", host: "claude.ai" },
    computers: { only: ["laptop"] },
    createdAt: now,
    expiresAt: now + HOUR_MS,
    number: 1,
    rotatedAt: [],
    ...over,
  };
}

/** Makes a code for a grant. */
export const newCode = (grant: Grant = newGrant()): PendingCode => ({
  grant,
  challenge: "c".repeat(43),
  redirect: "http://127.0.0.1:1/callback",
  expiresAt: Date.now() + MINUTE_MS,
});

/** Makes what stands for the SHA-256 of a code. */
export const newHash = (): string => crypto.randomUUID();

const ROUNDS = 50;
const AT_ONCE = 20;

/** Does the same at once on all nodes, and returns what each answered. */
const together = async <T>(
  { nodes }: Stores,
  work: (store: SignInStore) => Promise<T>,
): Promise<T[]> =>
  await Promise.all(
    Array.from({ length: AT_ONCE }).flatMap(() => nodes.map(work)),
  );

/** Registers the tests of the contract for an implementation. */
export function testStores(
  name: string,
  open: () => Promise<Stores>,
  settings: Partial<Deno.TestDefinition> = {},
): void {
  const test: Test = (promise, run) =>
    Deno.test({
      ...settings,
      name: `${name}: ${promise}`,
      async fn() {
        await using stores = await open();
        await run(stores);
      },
    });
  testOnce(test);
  testRows(test);
  testTimes(test);
  testRestart(test);
}

type Test = (promise: string, run: (stores: Stores) => Promise<void>) => void;

function testOnce(test: Test): void {
  test("sign-in #1: a code is taken once, of 20 at once on each of two nodes, in 50 rounds", async (stores) => {
    for (let round = 0; round < ROUNDS; round++) {
      const hash = newHash();
      const code = newCode();
      await stores.nodes[0].putCode(hash, code);
      const taken = await together(stores, (store) => store.takeCode(hash));
      assertEquals(taken.filter((each) => each !== undefined), [code]);
    }
  });

  test("sign-in #16: a number is replaced once, of 20 at once on each of two nodes, in 50 rounds", async (stores) => {
    const first = newGrant();
    await stores.nodes[0].putGrant(first, newHash());
    for (let number = 1; number <= ROUNDS; number++) {
      let rival = 0;
      const rotated = await together(stores, async (store) => {
        const rotatedAt = [rival++];
        const next = { ...first, number: number + 1, rotatedAt };
        return await store.rotate(next, number) ? [next] : [];
      });
      const [winner, ...others] = rotated.flat();
      assertEquals(others, []);
      for (const store of stores.nodes) {
        assertEquals(await store.grant(first.id), winner);
      }
    }
  });

  test("sign-in #17: a grant ends once, of 20 at once on each of two nodes, in 50 rounds, and is gone on both", async (stores) => {
    for (let round = 0; round < ROUNDS; round++) {
      const grant = newGrant();
      await stores.nodes[1].putGrant(grant, newHash());
      const ended = await together(stores, (store) => store.endGrant(grant.id));
      assertEquals(ended.filter((each) => each !== undefined), [grant]);
      for (const store of stores.nodes) {
        assertEquals(await store.grant(grant.id), undefined);
        assertEquals(await store.rotate({ ...grant, number: 2 }, 1), false);
        assertEquals(await store.grant(grant.id), undefined);
      }
    }
  });

  test("a secret of 32 bytes is made once, by whichever node asks first", async (stores) => {
    if (stores.hasNoSecret) return;
    const [secret, ...others] = await together(
      stores,
      (store) => store.secret(),
    );
    assert(secret !== undefined);
    assertEquals(secret.byteLength, 32);
    assertEquals(new Set(others.map(String)), new Set([String(secret)]));
  });
}

function testRows(test: Test): void {
  test("sign-in #2: the grant of a code is found again, until it has ended", async ({ nodes: [a, b] }) => {
    const grant = newGrant();
    const hash = newHash();
    assertEquals(await b.grantOfCode(hash), undefined);
    await a.putGrant(grant, hash);
    assertEquals(await b.grantOfCode(hash), grant.id);
    assertEquals(await b.grant(grant.id), grant);
    const other = newGrant({ office: "läb", computers: { except: [] } });
    await b.putGrant(other, newHash());
    await a.endGrant(grant.id);
    assertEquals(await b.grant(grant.id), undefined);
    assertEquals(await a.grant(other.id), other);
  });

  test("what was never kept is absent", async ({ nodes: [a] }) => {
    assertEquals(await a.takeCode("none"), undefined);
    assertEquals(await a.grantOfCode("none"), undefined);
    assertEquals(await a.grant("none"), undefined);
    assertEquals(await a.rotate(newGrant(), 1), false);
    assertEquals(await a.endGrant("none"), undefined);
    await a.touch("none", Date.now());
    assertEquals(await a.grants(), []);
  });

  test("all grants are listed with their last use, which is noted at most once a minute", async ({ nodes: [a, b] }) => {
    const one = newGrant();
    const two = newGrant();
    for (const grant of [one, two]) await a.putGrant(grant, newHash());
    const used = async () => {
      const all = await b.grants();
      assertEquals(all.length, 2);
      return new Map(all.map(({ usedAt, ...grant }) => [grant.id, usedAt]));
    };
    assertEquals((await used()).get(one.id), one.createdAt);
    const at = one.createdAt + HOUR_MS / 2;
    await a.touch(one.id, at);
    await b.touch(one.id, at - 1); // of a node whose clock is late
    await a.touch(one.id, at + MINUTE_MS - 1);
    assertEquals((await used()).get(one.id), at);
    await a.touch(one.id, at + MINUTE_MS);
    assertEquals((await used()).get(one.id), at + MINUTE_MS);
    assertEquals((await used()).get(two.id), two.createdAt);
    await a.rotate({ ...one, number: 2 }, 1);
    assertEquals((await used()).get(one.id), at + MINUTE_MS);
    await b.endGrant(two.id);
    const left = (await a.grants()).map(({ id }) => id);
    assertEquals(left, [one.id]);
  });
}

function testTimes(test: Test): void {
  test("a code and a grant whose time has come are absent", async ({ nodes: [a, b] }) => {
    const past = Date.now() - 1;
    const hash = newHash();
    const grant = newGrant({ expiresAt: past });
    await a.putCode(hash, { ...newCode(), expiresAt: past });
    await a.putGrant(grant, newHash());
    assertEquals(await b.takeCode(hash), undefined);
    assertEquals(await b.grant(grant.id), undefined);
    assertEquals(await b.rotate({ ...grant, number: 2 }, 1), false);
    assertEquals(await b.endGrant(grant.id), undefined);
    assertEquals(await b.grants(), []);
  });
}

function testRestart(test: Test): void {
  test("a restart loses nothing", async (stores) => {
    const { nodes: [a], restart } = stores;
    if (restart === undefined) return;
    const secret = stores.hasNoSecret ? undefined : await a.secret();
    const grant = newGrant();
    const used = newHash();
    const hash = newHash();
    const code = newCode();
    await a.putGrant(grant, used);
    await a.putCode(hash, code);
    await a.rotate({ ...grant, number: 2 }, 1);
    const [, b] = await restart();
    if (secret) assertEquals(await b.secret(), secret);
    assertEquals(await b.grant(grant.id), { ...grant, number: 2 });
    assertEquals(await b.grantOfCode(used), grant.id);
    assertEquals(await b.takeCode(hash), code);
  });
}
