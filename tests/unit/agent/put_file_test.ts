import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { putFile } from "../../../agent/put_file.ts";
import { BlobError, ConnectionError } from "../../../agent/mod.ts";
import { Uploads } from "../../../computer/blobs/uploads.ts";
import {
  ProtocolError,
  type PutBlobReq,
  type PutBlobRet,
} from "../../../protocol/mod.ts";
import { parsePutBlobReq } from "../../../protocol/payloads/blobs.ts";
import { sha256, someBytes } from "../../support/blob_script.ts";
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
    const parsed = parsePutBlobReq({ ...request, agent: "a", req_id: "1" });
    this.requests.push(parsed);
    return answer(parsed) as Promise<never>;
  },
});

/** A Computer that takes files into a folder. */
async function landing() {
  const folder = await scratch();
  const uploads = new Uploads(`${folder.path}/landing`, {
    maxBytes: 2_000_000,
    maxConcurrent: 4,
    idleTimeoutMs: 600_000,
  });
  return {
    uploads,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await uploads.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

Deno.test("0.4 §7.5: putFile() sends bytes, a Blob or a path in chunks that fit, and tells how far it is", async () => {
  await using pc = await landing();
  const path = `${pc.folder}/my file.bin`;
  await Deno.writeFile(path, FILE);
  for (
    const [file, name, hint] of [
      [FILE, "given.bin", "_given.bin"],
      [new Blob([FILE]), "blob.png", "_blob.png"],
      [new File([FILE], "blob.bin"), undefined, "_blob.bin"],
      [path, undefined, "_my_file.bin"],
    ] as const
  ) {
    const requests = requestsTo((request) => pc.uploads.put(request), 300_000);
    const told: unknown[] = [];
    const landed = await putFile(requests, "pc", file, {
      onProgress: (progress) => told.push(progress),
      ...(name !== undefined && { name }),
    });
    assertEquals(landed.size, 1_000_000);
    assertEquals(landed.sha256, sha256(FILE));
    assertEquals(await Deno.readFile(landed.path), FILE);
    assert(landed.path.endsWith(hint), landed.path);
    assertEquals(
      requests.requests.map(({ chunk_offset, eof, total_size }) => [
        chunk_offset,
        eof,
        total_size,
      ]),
      [
        [0, false, 1_000_000],
        [262_144, false, undefined],
        [524_288, false, undefined],
        [786_432, true, undefined],
      ],
    );
    assertEquals(
      told,
      [262_144, 524_288, 786_432, 1_000_000]
        .map((sent) => ({ sent, total: 1_000_000 })),
    );
  }
  const small = requestsTo((request) => pc.uploads.put(request), 150_000);
  await putFile(small, "pc", FILE.subarray(0, 200_000), NAMED);
  assertEquals(small.requests.length, 2);
});

Deno.test("0.4 §7.5: putFile() gives an upload up that it aborts or that fails, also the first chunk", async () => {
  for (const abortAt of [0, 1, 2]) {
    await using pc = await landing();
    const abort = new AbortController();
    const dropped = Promise.withResolvers<void>();
    let count = 0;
    const requests = requestsTo(async (request) => {
      if (count++ === abortAt) abort.abort(new Error("enough"));
      const answer = await pc.uploads.put(request);
      if (request.abort) dropped.resolve();
      return answer;
    });
    await assertRejects(
      () =>
        putFile(requests, "pc", FILE, {
          ...NAMED,
          signal: abort.signal,
        }),
      Error,
      "enough",
    );
    await dropped.promise;
    assertEquals(
      [...Deno.readDirSync(`${pc.folder}/landing/.a2c-upload`)],
      [],
    );
  }
});

Deno.test("putFile() refuses what is no file, and a file that changes meanwhile", async () => {
  await using pc = await landing();
  const requests = requestsTo((request) => pc.uploads.put(request));
  for (const empty of [new Uint8Array(), new Blob([])]) {
    await assertRejects(
      () => putFile(requests, "pc", empty, NAMED),
      TypeError,
      "empty file",
    );
  }
  await assertRejects(
    () => putFile(requests, "pc", pc.folder, {}),
    TypeError,
    "it is not a file",
  );
  await assertRejects(
    () => putFile(requests, "pc", `${pc.folder}/none`, {}),
    Error,
    "ENOENT",
  );
  for (
    const [file, name] of [
      [FILE, undefined],
      [FILE, ""],
      [new Blob([FILE], { type: "image/png" }), undefined],
    ] as const
  ) {
    await assertRejects(
      () => putFile(requests, "pc", file, name === undefined ? {} : { name }),
      TypeError,
      'Cannot put bytes without a name, from which the Computer takes the extension: give one, such as { name: "photo.png" }',
    );
  }
  assertEquals(requests.requests, []);

  const path = `${pc.folder}/file`;
  await Deno.writeFile(path, FILE);
  const shortening = requestsTo(async (request) => {
    await Deno.truncate(path, 10);
    return await pc.uploads.put(request);
  });
  const shorter = await assertRejects(
    () => putFile(shortening, "pc", path, {}),
    BlobError,
  );
  assertEquals(shorter.code, "changed");
  const replaced = someBytes(300_000);
  const replacing = requestsTo(async (request) => {
    replaced.fill(0);
    return await pc.uploads.put(request);
  });
  const error = await assertRejects(
    () => putFile(replacing, "pc", replaced, NAMED),
    ProtocolError,
  );
  assertEquals(error.details?.reason, "integrity");
});

Deno.test("putFile() explains a peer that knows no uploads, and one that answers nonsense", async () => {
  const ret = { upload_id: "u", chunk_offset: 0, req_id: "1" };
  const rows: [
    answer: () => Promise<PutBlobRet>,
    code: string,
    told: string,
  ][] = [
    [
      () => Promise.reject(new ConnectionError("timeout", "late")),
      "unsupported",
      "protocol 0.4",
    ],
    [
      () => Promise.reject(new ProtocolError(408, "late")),
      "unsupported",
      "protocol 0.4",
    ],
    [
      () => Promise.reject(new ProtocolError(400, "Unknown event")),
      "unsupported",
      "Unknown event",
    ],
    [() => Promise.resolve(ret), "invalid", "where it put the file"],
    [
      () => Promise.resolve({ ...ret, landing_path: "/x", sha256: "0" }),
      "changed",
      "not the one that was sent",
    ],
    [
      () => Promise.resolve({ ...ret, landing_path: "/x" }),
      "changed",
      "not the one that was sent",
    ],
  ];
  for (const [answer, code, told] of rows) {
    const error = await assertRejects(
      () => putFile(requestsTo(answer), "pc", new Uint8Array(3), NAMED),
      BlobError,
    );
    assertEquals(error.code, code);
    assertStringIncludes(error.message, told);
  }
});
