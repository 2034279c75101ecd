import { assert, assertEquals, assertRejects } from "@std/assert";
import { BlobStore } from "../../../../computer/blobs/store.ts";
import { ownerMark } from "../../../../computer/util/processes.ts";
import { ProtocolError } from "../../../../protocol/mod.ts";
import { scratch } from "../../../support/scratch.ts";

const content = (fill: number, size = 100) => new Uint8Array(size).fill(fill);

/** The names of all that is in a folder, and its modes. */
function listing(path: string): string[] {
  return [...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) =>
    isDirectory ? [name, ...listing(`${path}/${name}`)] : [name]
  );
}

Deno.test("BlobStore writes what exceeds its memory to a folder for its user alone, and removes it at the end", async () => {
  await using folder = await scratch();
  const store = new BlobStore({
    maxBytes: 1_000,
    memoryBytes: 150,
    directory: folder.path,
  });
  const first = await store.add(content(1), "a/b");
  assertEquals(listing(folder.path), []);
  const second = await store.add(content(2), "a/b");
  const [own, ...files] = listing(folder.path);
  assertEquals(files, [first]);
  const path = `${folder.path}/${own}`;
  assertEquals(Deno.statSync(path).mode! & 0o777, 0o700);
  assertEquals(Deno.statSync(`${path}/${first}`).mode! & 0o777, 0o600);
  for (const [sha256, fill] of [[first, 1], [second, 2]] as const) {
    const source = store.get(sha256);
    assertEquals(source?.size, 100);
    assertEquals(await source?.read(90, 10), content(fill, 10));
  }
  await store.clear();
  assertEquals(listing(folder.path), []);
  assertEquals(store.get(second), undefined);
  await store.add(content(3, 200), "a/b");
  assertEquals(listing(folder.path).length, 2);
  await store.close();
  assertEquals(listing(folder.path), []);
  await assertRejects(() => store.add(content(4), "a/b"), Error, "closed");
});

Deno.test("BlobStore removes what was not used for longest, also while it is read", async () => {
  await using folder = await scratch();
  const store = new BlobStore({
    maxBytes: 300,
    memoryBytes: 100,
    directory: folder.path,
  });
  const [a, b, c] = [
    await store.add(content(1), "a/b"),
    await store.add(content(2), "a/b"),
    await store.add(content(3), "a/b"),
  ];
  assert(store.get(a)); // used
  const held = store.get(b);
  assertEquals(await store.add(content(1), "c/d"), a); // known
  assertEquals(store.get(a)?.mimeType, "c/d");
  const held2 = store.get(c);
  await store.add(content(4), "a/b"); // drops b, used before c
  const error = await assertRejects(async () => {
    await held?.read(0, 1);
  }, ProtocolError);
  assertEquals([error.code, error.details?.reason], [4018, "gone"]);
  assertEquals(store.get(b), undefined);
  assertEquals(await held2?.read(0, 1), content(3, 1));
  await store.close();
});

Deno.test("BlobStore says so when it cannot write to the disk", async () => {
  await using folder = await scratch();
  await Deno.writeTextFile(`${folder.path}/file`, "");
  const store = new BlobStore({
    maxBytes: 1_000,
    memoryBytes: 100,
    directory: `${folder.path}/file`,
  });
  await assertRejects(
    () => store.add(content(1, 101), "a/b"),
    Error,
    "it cannot be kept on the disk",
  );
  assert(store.get(await store.add(content(2), "a/b")));
  await store.close();
});

Deno.test("BlobStore removes at its start what ended processes left, and nothing else", async () => {
  await using folder = await scratch();
  const { pid } = Deno;
  const [host] = ownerMark().split("-");
  const ended = await new Deno.Command(Deno.execPath(), { args: ["--version"] })
    .spawn();
  await ended.status;
  const now = Date.now();
  const keep = [
    `a2c-smcp-blobs-${host}-${pid}-${now}.own`,
    `a2c-smcp-blobs-${host}-1-${now}.running`,
    `a2c-smcp-blobs-elsewhere-${ended.pid}-${now}.other-machine`,
    `something-${host}-${ended.pid}-${now}.else`,
  ];
  const remove = [
    `a2c-smcp-blobs-${host}-${ended.pid}-${now}.ended`,
    `a2c-smcp-blobs-${host}-${pid}-1000.same-number`,
    `a2c-smcp-blobs-elsewhere-1-1000.old`,
  ];
  for (const name of [...keep, ...remove]) {
    await Deno.mkdir(`${folder.path}/${name}`);
    await Deno.writeTextFile(`${folder.path}/${name}/content`, "x");
  }
  const old = `${folder.path}/${remove[2]}`;
  await Deno.utime(old, new Date(0), new Date(0));
  const store = new BlobStore({
    maxBytes: 1,
    memoryBytes: 1,
    directory: folder.path,
  });
  await store.start();
  const left = [...Deno.readDirSync(folder.path)].map(({ name }) => name);
  assertEquals(left.sort(), keep.sort());
  await store.close();
});
