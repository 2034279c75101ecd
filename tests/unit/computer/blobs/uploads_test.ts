import { Buffer } from "node:buffer";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { BlobStore } from "../../../../computer/blobs/store.ts";
import {
  cleanHint,
  type UploadLimits,
  Uploads,
} from "../../../../computer/blobs/uploads.ts";
import { ownerMark } from "../../../../computer/util/processes.ts";
import { ProtocolError, type PutBlobReq } from "../../../../protocol/mod.ts";
import { sha256, someBytes } from "../../../support/blob_script.ts";
import { scratch } from "../../../support/scratch.ts";

const FILE = someBytes(1_000);
const LIMITS: UploadLimits = {
  maxBytes: 10_000,
  maxConcurrent: 4,
  idleTimeoutMs: 600_000,
};

const chunk = (
  from: number,
  to: number,
  more: Record<string, unknown> = {},
): PutBlobReq => ({
  agent: "a",
  req_id: "1",
  computer: "pc",
  chunk_offset: from,
  eof: to === FILE.length,
  blob: Buffer.from(FILE.subarray(from, to)).toString("base64"),
  ...(from === 0 && more.upload_id === undefined &&
    { total_size: FILE.length, sha256: sha256(FILE) }),
  ...more,
});

/** Files below a folder, relative to it. */
const filesIn = (path: string): string[] =>
  [...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? filesIn(`${path}/${name}`).map((inner) => `${name}/${inner}`)
      : [name]
  );

/** Returns the reason of a refused chunk. */
async function reasonOf(work: Promise<unknown>): Promise<unknown> {
  const error = await assertRejects(() => work, ProtocolError);
  assertEquals(error.code, 4019);
  return error.details?.reason;
}

async function inFolder(
  work: (uploads: Uploads, root: string) => Promise<void>,
  limits: Partial<UploadLimits> = {},
): Promise<void> {
  await using folder = await scratch();
  const root = `${await Deno.realPath(folder.path)}/landing`;
  const uploads = new Uploads(root, { ...LIMITS, ...limits });
  try {
    await work(uploads, root);
  } finally {
    await uploads.close();
  }
  const left = filesIn(root).filter((name) => name.startsWith(".a2c-upload/"));
  assertEquals(left, []);
}

Deno.test("protocol §8.7: Uploads puts a file in its place after the last chunk", () =>
  inFolder(async (uploads, root) => {
    const first = await uploads.put(
      chunk(0, 400, { name_hint: "../we ird/näme.txt" }),
    );
    const { upload_id } = first;
    assertMatch(upload_id, /^[0-9a-f]{32}$/);
    assertEquals(first, { upload_id, chunk_offset: 0, req_id: "1" });
    assertMatch(filesIn(root).join(), /^\.a2c-upload\/[0-9a-f]{32}\..*\.part$/);
    assertEquals(await uploads.put(chunk(400, 500, { upload_id })), {
      upload_id,
      chunk_offset: 400,
      req_id: "1",
    });
    const landing_path = `${root}/${upload_id}_we_ird_n_me.txt`;
    assertEquals(await uploads.put(chunk(500, 1_000, { upload_id })), {
      upload_id,
      chunk_offset: 500,
      req_id: "1",
      landing_path,
      total_size: 1_000,
      sha256: sha256(FILE),
    });
    assertEquals(await Deno.readFile(landing_path), FILE);
    assertEquals(
      await reasonOf(uploads.put(chunk(0, 1_000, { upload_id }))),
      "invalid_upload",
    );
    // A file of one chunk, without a hint, declared in upper case.
    const whole = await uploads.put(
      chunk(0, 1_000, { sha256: sha256(FILE).toUpperCase() }),
    );
    assertEquals(whole.landing_path, `${root}/${whole.upload_id}`);
  }));

Deno.test("protocol §8.7: Uploads refuses a first chunk in the order of the reasons", () =>
  inFolder(async (uploads, root) => {
    const rows: [change: Record<string, unknown>, reason: string][] = [
      [{ total_size: 0 }, "invalid_declaration"],
      [{ total_size: "1000" }, "invalid_declaration"],
      [{ total_size: undefined }, "invalid_declaration"],
      [{ sha256: "abc" }, "invalid_declaration"],
      [{ sha256: undefined, total_size: 1e9 }, "invalid_declaration"],
      [{ name_hint: 5 }, "invalid_declaration"],
      [{ blob: "a?==", total_size: 1e9 }, "too_large"],
      [{ total_size: 10_001, chunk_offset: 1 }, "too_large"],
      [{ chunk_offset: 1, blob: "a?==" }, "range"],
      [{ chunk_offset: -1 }, "range"],
      [{ blob: "a?==" }, "invalid_declaration"],
      [{ total_size: 399 }, "range"],
      [{ eof: true }, "range"],
      [{ eof: true, total_size: 400 }, "integrity"],
    ];
    for (const [change, reason] of rows) {
      const refused = await reasonOf(uploads.put(chunk(0, 400, change)));
      assertEquals(refused, reason, JSON.stringify(change));
    }
    assertEquals(filesIn(root), []);
  }));

Deno.test("protocol §8.7: Uploads goes on after some failures, and drops the upload after others", () =>
  inFolder(async (uploads, root) => {
    const rows: [
      change: Record<string, unknown>,
      reason: string,
      stays: boolean,
    ][] = [
      [{ total_size: 1_000 }, "invalid_declaration", true],
      [{ sha256: "x" }, "invalid_declaration", true],
      [{ name_hint: "x" }, "invalid_declaration", true],
      [{ blob: "a?==" }, "invalid_declaration", true],
      [{ chunk_offset: 399 }, "range", true],
      [{ chunk_offset: 0 }, "range", true],
      [{ eof: true }, "range", true],
      [{ blob: "A".repeat(804) }, "range", false],
      [{ blob: "A".repeat(800), eof: true }, "integrity", false],
      [{ upload_id: "x", total_size: 1 }, "invalid_upload", true],
      [{ upload_id: "x" }, "invalid_upload", true],
    ];
    for (const [change, reason, stays] of rows) {
      const { upload_id } = await uploads.put(chunk(0, 400));
      const refused = uploads.put(chunk(400, 600, { upload_id, ...change }));
      assertEquals(await reasonOf(refused), reason, JSON.stringify(change));
      const rest = uploads.put(chunk(400, 1_000, { upload_id }));
      if (stays) await Deno.remove((await rest).landing_path ?? "");
      else assertEquals(await reasonOf(rest), "invalid_upload");
      assertEquals(filesIn(root), []);
    }
  }));

Deno.test("protocol §8.7: Uploads takes some at a time, and drops those that are given up or idle", () =>
  inFolder(async (uploads, root) => {
    const first = await uploads.put(chunk(0, 400));
    const second = await uploads.put(chunk(0, 400));
    assertEquals(await reasonOf(uploads.put(chunk(0, 400))), "busy");
    const { upload_id } = second;
    await uploads.put(chunk(0, 0, { upload_id, abort: true }));
    assertEquals(filesIn(root).length, 1);
    await uploads.put(chunk(0, 400));
    await uploads.put(chunk(400, 1_000, { upload_id: first.upload_id }));
    await uploads.drop();
    assertEquals(filesIn(root).length, 1);
  }, { maxConcurrent: 2 }));

Deno.test("protocol §8.7: Uploads drops an upload that gets no further chunk", () =>
  inFolder(async (uploads, root) => {
    const { upload_id } = await uploads.put(chunk(0, 400));
    // A watcher of files may miss what happens in a folder that it has not found yet.
    while (filesIn(root).length > 0) await turn();
    assertEquals(
      await reasonOf(uploads.put(chunk(400, 1_000, { upload_id }))),
      "invalid_upload",
    );
  }, { idleTimeoutMs: 1 }));

Deno.test("protocol §8.7: Uploads drops no upload while it takes a chunk", () =>
  inFolder(async (uploads) => {
    const { upload_id } = await uploads.put(chunk(0, 400));
    const taking = uploads.put(chunk(400, 800, { upload_id }));
    const end = performance.now() + 40;
    while (performance.now() < end); // the time of the first chunk is over
    await taking;
    await uploads.put(chunk(800, 1_000, { upload_id }));
  }, { idleTimeoutMs: 20 }));

Deno.test("protocol §8.7: Uploads writes nothing outside of its folder", async () => {
  await using folder = await scratch();
  const path = await Deno.realPath(folder.path);
  await Deno.mkdir(`${path}/outside`);
  await Deno.mkdir(`${path}/real`);
  await Deno.writeTextFile(`${path}/file`, "");
  await Deno.mkdir(`${path}/linked`);
  await Deno.symlink(`${path}/outside`, `${path}/linked/.a2c-upload`);
  await Deno.symlink(`${path}/real`, `${path}/link`);
  for (const root of [undefined, `${path}/file`, `${path}/linked`]) {
    const uploads = new Uploads(root, LIMITS);
    assertEquals(
      await reasonOf(uploads.put(chunk(0, 400))),
      "forbidden",
      root,
    );
    await uploads.close();
  }
  // A folder that its owner reaches by a link is as good as any.
  const uploads = new Uploads(`${path}/link`, LIMITS);
  const landed = await uploads.put(chunk(0, 1_000));
  assertEquals(landed.landing_path, `${path}/real/${landed.upload_id}`);
  // A link that takes the place of the folder during an upload is not followed.
  const { upload_id } = await uploads.put(chunk(0, 400));
  await Deno.remove(`${path}/link`);
  await Deno.symlink(`${path}/outside`, `${path}/link`);
  assertEquals(
    await reasonOf(uploads.put(chunk(400, 1_000, { upload_id }))),
    "io_error",
  );
  await uploads.close();
  assertEquals(filesIn(`${path}/outside`), []);
  assertEquals(filesIn(`${path}/real`), [landed.upload_id]);
});

Deno.test("protocol §8.7: Uploads removes at its start the parts of ended processes", async () => {
  await using folder = await scratch();
  const ended = new Deno.Command(Deno.execPath(), {
    args: ["--version"],
    stdout: "null",
  }).spawn();
  await ended.status;
  const [host] = ownerMark().split("-");
  const parts = `${folder.path}/.a2c-upload`;
  await Deno.mkdir(parts);
  const names = [
    `aa.${host}-${ended.pid}-${Date.now()}.part`,
    `bb.${host}-1-${Date.now()}.part`,
    "cc.part",
    "notes.txt",
  ];
  for (const name of names) await Deno.writeTextFile(`${parts}/${name}`, "x");
  const uploads = new Uploads(folder.path, LIMITS);
  await uploads.start();
  assertEquals(filesIn(parts).sort(), names.slice(1).sort());
  await uploads.close();
});

Deno.test("protocol §8.7: cleanHint() leaves a harmless end for a name", () => {
  const rows: [hint: string, clean: string][] = [
    ["../we ird/näme.txt", "we_ird_n_me.txt"],
    ["  report.pdf ", "report.pdf"],
    ["...", ""],
    ["/etc/passwd", "etc_passwd"],
    ["a\0b\nc", "a_b_c"],
    [`${"x".repeat(63)}-y`, "x".repeat(63)],
    ["", ""],
    ["..\\..\\x", "x"],
  ];
  for (const [hint, clean] of rows) assertEquals(cleanHint(hint), clean, hint);
});

/** Lets timers and files have their turn. */
const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 1));

const content = (fill: number, size = 100) => new Uint8Array(size).fill(fill);

/** The names of all that is in a folder. */
function listing(path: string): string[] {
  return [...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) =>
    isDirectory ? [name, ...listing(`${path}/${name}`)] : [name]
  );
}

/** A store in a folder of the test. */
async function startStore(maxBytes: number, memoryBytes: number) {
  const folder = await scratch();
  const { path: directory } = folder;
  const store = new BlobStore({ maxBytes, memoryBytes, directory });
  const add = (fill: number, size = 100, type = "a/b") =>
    store.add(content(fill, size), type);
  return {
    store,
    add,
    directory,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

Deno.test("BlobStore writes what exceeds its memory to a folder for its user alone, and removes it at the end", async () => {
  await using fresh = await startStore(1_000, 150);
  const { store, add, directory } = fresh;
  const first = await add(1);
  assertEquals(listing(directory), []);
  const second = await add(2);
  const [own, ...files] = listing(directory);
  assertEquals(files, [first]);
  const path = `${directory}/${own}`;
  assertEquals(Deno.statSync(path).mode! & 0o777, 0o700);
  assertEquals(Deno.statSync(`${path}/${first}`).mode! & 0o777, 0o600);
  for (const [sha256, fill] of [[first, 1], [second, 2]] as const) {
    const source = store.get(sha256);
    assertEquals(source?.size, 100);
    assertEquals(await source?.read(90, 10), content(fill, 10));
  }
  await store.clear();
  assertEquals(listing(directory), []);
  assertEquals(store.get(second), undefined);
  await add(3, 200);
  assertEquals(listing(directory).length, 2);
  await store.close();
  assertEquals(listing(directory), []);
  await assertRejects(() => add(4), Error, "closed");
});

Deno.test("BlobStore removes what was not used for longest, also while it is read", async () => {
  await using fresh = await startStore(300, 100);
  const { store, add } = fresh;
  const a = await add(1);
  const b = await add(2);
  const c = await add(3);
  assert(store.get(a)); // used
  const held = store.get(b);
  assertEquals(await add(1, 100, "c/d"), a); // known
  assertEquals(store.get(a)?.mimeType, "c/d");
  const held2 = store.get(c);
  await add(4); // drops b, used before c
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
