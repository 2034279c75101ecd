import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { BlobExchange, writeHandle } from "../../../../computer/blobs/blobs.ts";
import {
  chunkLength,
  getBlob,
} from "../../../../computer/requests/contents.ts";
import { ProtocolError } from "../../../../protocol/mod.ts";
import { scratch } from "../../../support/scratch.ts";

const SECRET = "not for agents";

/** A repeatable source of numbers below a limit. */
function numbers(seed: number): (limit: number) => number {
  let x = seed;
  return (limit) => {
    x = (x * 48_271) % 0x7fffffff;
    return x % limit;
  };
}

const PARTS = [
  "../",
  "/etc/passwd",
  "\\",
  "\0",
  "%2e%2e",
  "result",
  "skill",
  '"}',
  ',"kind":"result"',
  "__proto__",
  "file:///",
];

/** Changes a handle at some places: characters, bits of the content, whole fields. */
function mutate(handle: string, next: (limit: number) => number): string {
  const json = Buffer.from(handle, "base64url").toString();
  const at = next(json.length);
  const part = PARTS[next(PARTS.length)] as string;
  const i = next(handle.length);
  const bytes = Buffer.from(json);
  bytes[at] = (bytes[at] as number) ^ (1 << next(8));
  const path = part;
  const name = part;
  const rel_path = part;
  const ways = [
    handle.slice(0, i),
    handle.slice(0, i) + "Aa9_-+/=."[next(9)] + handle.slice(i + 1),
    writeHandle({ kind: part, sha256: part, path, name, rel_path }),
    writeHandle({ kind: "result", sha256: part + json }),
    handle + part,
    Buffer.from(json.slice(0, at) + part + json.slice(at))
      .toString("base64url"),
    bytes.toString("base64url"),
  ];
  return ways[next(ways.length)] as string;
}

Deno.test("protocol §8.7: 10,000 mutated handles read nothing but what was given out", async () => {
  await using folder = await scratch();
  await Deno.writeTextFile(`${folder.path}/secret`, SECRET);
  const exchange = new BlobExchange({
    blobStore: { memoryBytes: 1, directory: folder.path },
  });
  const given = new TextEncoder().encode("for agents");
  const sha256 = await exchange.store.add(given, "text/plain");
  const handle = writeHandle({ kind: "result", sha256 });
  const next = numbers(7);
  const read = async (blob_handle: string) =>
    await getBlob(
      { agent: "a", req_id: "1", computer: "pc", blob_handle },
      exchange,
      1_000_000,
    );
  const reasons = new Map<string, number>();
  for (let i = 0; i < 10_000; i++) {
    const mutated = mutate(handle, next);
    if (mutated === handle) continue;
    try {
      const { blob } = await read(mutated);
      // Only a handle with a further field can lead there, too.
      assertEquals(Buffer.from(blob, "base64").toString(), "for agents");
    } catch (error) {
      assert(error instanceof ProtocolError, `${mutated}: ${error}`);
      assertEquals(error.code, 4018, mutated);
      const reason = String(error.details?.reason);
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
  }
  assertEquals([...reasons.keys()].sort(), ["gone", "invalid_handle"]);
  assertEquals(
    Buffer.from((await read(handle)).blob, "base64").toString(),
    "for agents",
  );
  await exchange.close();
  await assertRejects(() => read(handle), ProtocolError, "no longer there");
});

Deno.test("protocol §8.7: getBlob() answers within the range, the wish, its own limit and the Server's", async () => {
  const exchange = new BlobExchange({});
  const bytes = new Uint8Array(1_000_000).map((_, i) => i);
  const sha256 = await exchange.store.add(bytes, "image/png");
  const blob_handle = writeHandle({ kind: "result", sha256 });
  const ask = async (
    offset: number | undefined,
    most: number | undefined,
    maxPayload: number | undefined = 1_000_000,
  ) => {
    const { blob, ...answer } = await getBlob(
      {
        agent: "a",
        req_id: "1",
        computer: "pc",
        blob_handle,
        ...(offset !== undefined && { chunk_offset: offset }),
        ...(most !== undefined && { max_chunk_bytes: most }),
      },
      exchange,
      maxPayload,
    );
    const chunk = Buffer.from(blob, "base64");
    const from = answer.chunk_offset;
    assertEquals(chunk, Buffer.from(bytes.slice(from, from + chunk.length)));
    assert(JSON.stringify({ ...answer, blob }).length + 64 <= maxPayload);
    return [chunk.length, answer.eof];
  };
  assertEquals(await ask(undefined, undefined), [262_144, false]);
  assertEquals(await ask(5, 10), [10, false]);
  assertEquals(await ask(999_990, 10), [10, true]);
  assertEquals(await ask(1_000_000, 10), [0, true]);
  const [length] = await ask(0, 0, 10_000);
  assert(Number(length) > 7_000, `${length}`);
  for (const offset of [-1, 1_000_001]) {
    const error = await assertRejects(() => ask(offset, 1), ProtocolError);
    assertEquals([error.code, error.details?.reason], [4018, "range"]);
  }
  await exchange.close();
});

const MOST = 262_144;

Deno.test("a chunk has what is wanted, what is left, or what has room, whichever is least (protocol §8.7)", () => {
  type Row = [wanted: number | undefined, left: number, room: number];
  const table: [...Row, length: number][] = [
    [undefined, 10, Infinity, 10],
    [undefined, MOST + 1, Infinity, MOST],
    [0, MOST + 1, Infinity, MOST],
    [MOST + 1, MOST + 1, Infinity, MOST],
    [3, 10, Infinity, 3],
    [5, 10, 4, 4],
    [5, 0, 4, 0],
    // A reader could not go on from an empty chunk.
    [5, 10, 0, 1],
    [5, 10, -7, 1],
    [5, 0, -7, 0],
  ];
  for (const [wanted, left, room, length] of table) {
    const row = `${wanted} ${left} ${room}`;
    assertEquals(chunkLength(wanted, left, room), length, row);
  }
});
