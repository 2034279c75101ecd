import { assertEquals } from "@std/assert";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  afterRefusal,
  type Refused,
  type SavedAuthorization,
  TokenStore,
} from "../../../../computer/host/oauth/token_store.ts";
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
