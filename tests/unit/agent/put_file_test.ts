import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Buffer } from "node:buffer";
import process from "node:process";
import { fromBase64, sha256, toBase64 } from "../../../agent/bytes.ts";
import { BlobError, ConnectionError } from "../../../agent/mod.ts";
import { openSource, putFile } from "../../../agent/put_file.ts";
import { Uploads } from "../../../computer/blobs/uploads.ts";
import {
  ProtocolError,
  type PutBlobReq,
  type PutBlobRet,
} from "../../../protocol/mod.ts";
import { putBlob } from "../../../protocol/payloads/blobs.ts";
import { sha256 as digestOf, someBytes } from "../../support/blob_script.ts";
import { scratch } from "../../support/scratch.ts";

const FILE = someBytes(1_000_000);
const NAMED = { name: "a.bin" };

/** Requests that a function answers. */
const requestsTo = (
  answer: (request: PutBlobReq) => Promise<PutBlobRet>,
  room = Infinity,
) => ({
  protocol: "0.4" as const,
  requests: [] as PutBlobReq[],
  roomForBase64: () => room,
  ask(
    _event: string,
    request: object,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ) {
    signal?.throwIfAborted();
    const parsed = putBlob.parseRequest({
      ...request,
      agent: "a",
      req_id: "1",
    });
    this.requests.push(parsed);
    return answer(parsed) as Promise<never>;
  },
});

/** A Computer that takes files into a folder. */
async function landing() {
  const folder = await scratch();
  const limits = { maxBytes: 2_000_000, maxConcurrent: 4 };
  const uploads = new Uploads(`${folder.path}/landing`, {
    ...limits,
    idleTimeoutMs: 600_000,
  });
  return {
    put: (request: PutBlobReq) => uploads.put(request),
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await uploads.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

Deno.test("protocol §8.7: putFile() sends bytes, a Blob or a path in chunks that fit, and tells how far it is", async () => {
  await using pc = await landing();
  const path = `${pc.folder}/my file.bin`;
  await Deno.writeFile(path, FILE);
  for (
    const [file, named, hint] of [
      [FILE, { name: "given.bin" }, "_given.bin"],
      [new Blob([FILE]), { name: "blob.png" }, "_blob.png"],
      [new File([FILE], "blob.bin"), {}, "_blob.bin"],
      [path, {}, "_my_file.bin"],
    ] as const
  ) {
    const requests = requestsTo(pc.put, 300_000);
    const steps: unknown[] = [];
    const landed = await putFile(requests, "pc", file, {
      onProgress: (progress) => steps.push(progress),
      ...named,
    });
    assertEquals([landed.size, landed.sha256], [1_000_000, digestOf(FILE)]);
    assertEquals(await Deno.readFile(landed.path), FILE);
    assert(landed.path.endsWith(hint), landed.path);
    assertEquals(
      requests.requests.map((r) => [r.chunk_offset, r.eof, r.total_size]),
      [
        [0, false, 1_000_000],
        [262_144, false, undefined],
        [524_288, false, undefined],
        [786_432, true, undefined],
      ],
    );
    const sent = [262_144, 524_288, 786_432, 1_000_000];
    assertEquals(steps, sent.map((sent) => ({ sent, total: 1_000_000 })));
  }
  const small = requestsTo(pc.put, 150_000);
  await putFile(small, "pc", FILE.subarray(0, 200_000), NAMED);
  assertEquals(small.requests.length, 2);
});

Deno.test("protocol §8.7: putFile() gives an upload up that it aborts or that fails, also the first chunk", async () => {
  for (const abortAt of [0, 1, 2]) {
    await using pc = await landing();
    const abort = new AbortController();
    const dropped = Promise.withResolvers<void>();
    let count = 0;
    const requests = requestsTo(async (request) => {
      if (count++ === abortAt) abort.abort(new Error("enough"));
      const answer = await pc.put(request);
      if (request.abort) dropped.resolve();
      return answer;
    });
    const options = { ...NAMED, signal: abort.signal };
    const put = () => putFile(requests, "pc", FILE, options);
    await assertRejects(put, Error, "enough");
    await dropped.promise;
    const parts = `${pc.folder}/landing/.a2c-upload`;
    assertEquals([...Deno.readDirSync(parts)], []);
  }
});

Deno.test("putFile() refuses what is no file, and a file that changes meanwhile", async () => {
  await using pc = await landing();
  const requests = requestsTo(pc.put);
  const unnamed =
    'Cannot put bytes without a name, from which the Computer takes the extension: give one, such as { name: "photo.png" }';
  const rows: [
    file: Parameters<typeof putFile>[2],
    options: { name?: string },
    says: string,
  ][] = [
    [new Uint8Array(), NAMED, "empty file"],
    [new Blob([]), NAMED, "empty file"],
    [pc.folder, {}, "it is not a file"],
    [`${pc.folder}/none`, {}, "ENOENT"],
    [FILE, {}, unnamed],
    [FILE, { name: "" }, unnamed],
    [new Blob([FILE], { type: "image/png" }), {}, unnamed],
  ];
  for (const [file, options, says] of rows) {
    const put = () => putFile(requests, "pc", file, options);
    const error = await assertRejects(put, Error, says);
    assertEquals(error instanceof TypeError, says !== "ENOENT");
  }
  assertEquals(requests.requests, []);

  const path = `${pc.folder}/file`;
  await Deno.writeFile(path, FILE);
  const shortening = requestsTo(async (request) => {
    await Deno.truncate(path, 10);
    return await pc.put(request);
  });
  const shorter = await assertRejects(
    () => putFile(shortening, "pc", path, {}),
    BlobError,
  );
  assertEquals(shorter.code, "changed");
  const replaced = someBytes(300_000);
  const replacing = requestsTo(async (request) => {
    replaced.fill(0);
    return await pc.put(request);
  });
  const error = await assertRejects(
    () => putFile(replacing, "pc", replaced, NAMED),
    ProtocolError,
  );
  assertEquals(error.details?.reason, "integrity");
});

Deno.test("putFile() explains a peer without uploads, and one that answers nonsense", async () => {
  const ret = { upload_id: "u", chunk_offset: 0, req_id: "1" };
  const other = "not the one that was sent";
  const rows: [answer: Error | PutBlobRet, code: string, says: string][] = [
    [new ConnectionError("timeout", "late"), "unsupported", "protocol 0.4"],
    [new ProtocolError(408, "late"), "unsupported", "protocol 0.4"],
    [new ProtocolError(400, "Unknown event"), "unsupported", "Unknown event"],
    [ret, "invalid", "did not return the path of the file"],
    [{ ...ret, landing_path: "/x", sha256: "0" }, "changed", other],
    [{ ...ret, landing_path: "/x" }, "changed", other],
  ];
  for (const [answer, code, says] of rows) {
    const requests = requestsTo(() =>
      answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
    );
    const error = await assertRejects(
      () => putFile(requests, "pc", new Uint8Array(3), NAMED),
      BlobError,
    );
    assertEquals(error.code, code);
    assertStringIncludes(error.message, says);
  }
});

/** Runs as where there are no modules of Node, such as in browsers. */
async function inBrowser(work: () => Promise<void>): Promise<void> {
  const { getBuiltinModule } = process;
  Object.assign(process, { getBuiltinModule: undefined });
  await work().finally(() => Object.assign(process, { getBuiltinModule }));
}

Deno.test("toBase64(), fromBase64() and sha256() give the same in browsers", async () => {
  const check = async () => {
    for (const size of [0, 1, 2, 3, 24_576, 24_577, 300_000]) {
      const bytes = someBytes(size + 5).subarray(5); // not at the start of its buffer
      const base64 = Buffer.from(bytes).toString("base64");
      assertEquals(toBase64(bytes), base64);
      assertEquals(new Uint8Array(fromBase64(base64) ?? []), bytes);
      const digest = sha256();
      digest.update(bytes.subarray(0, size >> 1));
      digest.update(bytes.subarray(size >> 1));
      assertEquals(await digest.hex(), digestOf(bytes));
    }
  };
  await check();
  await inBrowser(check);
});

Deno.test("openSource() takes no path where there is no file system, but a Blob", () =>
  inBrowser(async () => {
    await assertRejects(
      () => openSource("a.txt"),
      Error,
      "Cannot open a path here; give the file as a Blob",
    );
    const source = await openSource(new Blob(["hello"]));
    assertEquals(new TextDecoder().decode(await source.read(1, 10)), "ello");
  }));
