/**
 * Bytes on a Computer, by the handle that an answer gave (protocol §8.7).
 *
 * {@linkcode fetchWhole} fetches them in chunks, several side by side, and starts over when they change
 * meanwhile; {@linkcode openBlob} is the same as a stream. Both compare the SHA-256 at the end.
 *
 * @module
 */
import { fromBase64, sha256 } from "./bytes.ts";
import type { Requests } from "./requests.ts";
import {
  ErrorCode,
  GET_BLOB_EVENT,
  type GetBlobRet,
  ProtocolError,
} from "../protocol/mod.ts";
import { joined } from "../shared/bytes.ts";

/** Bytes of a chunk that is asked for: what other SDKs send at most. */
export const CHUNK_BYTES = 262_144;
/** Chunks that are fetched side by side. */
const CONCURRENT_CHUNKS = 4;
/** How often a fetch starts over when the bytes have changed. */
const MAX_RESTARTS = 3;

/** Bytes on a Computer. */
interface BlobPlace {
  /** Sends the requests. */
  readonly requests: Pick<Requests, "ask">;
  /** The Computer that issued the handle. */
  readonly computer: string;
  /** The handle. */
  readonly handle: string;
  /** Its SHA-256 where it was announced, as lower-case digits. */
  readonly expected?: string | undefined;
}

/** A chunk with its bytes. */
type Chunk = Omit<GetBlobRet, "blob"> & { readonly bytes: Uint8Array };

/**
 * Fetches the first chunk, and the others when they are read; compares their SHA-256 at the end (protocol §8.7).
 *
 * @returns the number of all bytes, and what yields them in order and once
 * @throws {BlobError} `changed`, `invalid`, `unsupported`
 */
async function beginFetch(place: BlobPlace, signal: AbortSignal | undefined) {
  const first = await fetchChunk(place, 0, CHUNK_BYTES, signal);
  const { total_size: size, bytes } = first;
  const digest = first.sha256.toLowerCase();
  const { expected = digest } = place;
  if (expected !== digest) throw changed();
  const step = bytes.length;

  /** Fetches the bytes of one step, which the Computer may send in several chunks. */
  async function part(begin: number, signal: AbortSignal) {
    const end = Math.min(begin + step, size);
    const parts: Uint8Array[] = [];
    for (let at = begin; at < end;) {
      const chunk = await fetchChunk(place, at, end - at, signal);
      const isSame = chunk.sha256.toLowerCase() === digest;
      if (!isSame || chunk.total_size !== size) throw changed();
      parts.push(chunk.bytes);
      at += chunk.bytes.length;
    }
    return parts;
  }

  async function* chunks(): AsyncGenerator<Uint8Array, void, void> {
    const actual = sha256();
    const ended = new AbortController();
    const both = either(signal, ended.signal);
    const pending = [Promise.resolve([bytes])];
    let next = step;
    try {
      while (pending.length > 0) {
        for (const chunk of await pending.shift() ?? []) {
          actual.update(chunk);
          yield chunk;
        }
        for (; pending.length < CONCURRENT_CHUNKS && next < size;) {
          const work = part(next, both);
          work.catch(() => {}); // thrown where it is read
          pending.push(work);
          next += step;
        }
      }
    } finally {
      ended.abort();
    }
    if (await actual.hex() !== digest) throw changed();
  }

  return { size, chunks: chunks() };
}

const either = (one: AbortSignal | undefined, other: AbortSignal) =>
  one ? AbortSignal.any([one, other]) : other;

/**
 * Fetches all bytes; starts over when they change meanwhile (protocol §8.7).
 *
 * @param most bytes at most
 * @throws {BlobError} `changed`, `invalid`, `unsupported`, `too_large`
 */
export async function fetchWhole(
  place: BlobPlace,
  most: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  for (let restarts = 0;; restarts++) {
    try {
      const { size, chunks } = await beginFetch(place, signal);
      if (size > most) throw tooLarge(size, most);
      return joined(await Array.fromAsync(chunks));
    } catch (error) {
      const again = error instanceof BlobError && error.code === "changed";
      if (!again || restarts === MAX_RESTARTS) throw error;
    }
  }
}

/** Fetches one chunk, of at least one byte unless there are none at all. */
async function fetchChunk(
  { requests, computer, handle }: BlobPlace,
  offset: number,
  most: number,
  signal: AbortSignal | undefined,
): Promise<Chunk> {
  const answer = await requests.ask(GET_BLOB_EVENT, {
    computer,
    blob_handle: handle,
    chunk_offset: offset,
    max_chunk_bytes: most,
  }, { signal }).catch((error) => {
    throw unsupported(error, "fetch bytes from");
  });
  const { blob, ...chunk } = answer;
  const bytes = fromBase64(blob);
  const end = offset + (bytes?.length ?? 0);
  const why = !bytes
    ? "is not base64"
    : chunk.chunk_offset !== offset
    ? `begins at ${chunk.chunk_offset} instead of ${offset}`
    : bytes.length > most
    ? `has ${bytes.length} bytes instead of at most ${most}`
    : end > chunk.total_size
    ? `goes beyond the end at ${chunk.total_size}`
    : bytes.length === 0 && end < chunk.total_size
    ? "is empty before the end"
    : chunk.eof !== (end === chunk.total_size)
    ? `is ${chunk.eof ? "" : "not "}marked as the last one`
    : undefined;
  if (bytes && why === undefined) return { ...chunk, bytes };
  const message = `Cannot fetch from Computer "${computer}": a chunk ${why}`;
  throw new BlobError("invalid", message);
}

/**
 * Explains the refusal of a peer that does not know an event; other errors stay as they are.
 *
 * @param task what cannot be done, as in "Cannot … a Computer"
 */
export const unsupported = (error: unknown, task: string): unknown =>
  error instanceof ProtocolError && error.code === ErrorCode.BAD_REQUEST
    ? new BlobError(
      "unsupported",
      `Cannot ${task} the Computer: the Server or the Computer does not know how, update it (${error.message})`,
      { cause: error },
    )
    : error;

const changed = (): BlobError =>
  new BlobError(
    "changed",
    "The bytes are not the announced ones: their source has changed, or they were damaged on the way",
  );

const tooLarge = (size: number, most: number): BlobError =>
  new BlobError(
    "too_large",
    `${size} bytes are more than the ${most} that a result may hold; keep the handles and read them with openBlob`,
  );

/** Opens bytes on a Computer as a stream; nothing is fetched before it is read. */
export function openBlob(
  place: BlobPlace,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const cancelled = new AbortController();
  const chunks = read(place, either(signal, cancelled.signal));
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      cancelled.abort(reason);
      // Requests in flight fail with that reason, which is not waited for.
      await chunks.return().catch(() => {});
    },
  }, { highWaterMark: 0 });
}

async function* read(
  place: BlobPlace,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  signal.throwIfAborted();
  const { chunks } = await beginFetch(place, signal);
  for await (const chunk of chunks) {
    if (chunk.length > 0) yield chunk; // a byte stream has no empty chunks
  }
}

/**
 * Why bytes could not be fetched from a Computer, or a file not be put there.
 *
 * - `unsupported`: the Server or the Computer does not know how, or gives no answer at all
 * - `changed`: the bytes are not the announced ones, or change during each attempt
 * - `invalid`: an answer breaks the protocol
 * - `too_large`: more than {@linkcode SmcpAgent.callTool} puts back into a result
 */
export type BlobErrorCode = "unsupported" | "changed" | "invalid" | "too_large";

/** Bytes could not be fetched from a Computer, or a file not be put there. */
export class BlobError extends Error {
  /** Always `"BlobError"`. */
  override readonly name = "BlobError";
  /** The kind of failure. */
  readonly code: BlobErrorCode;

  /** Creates an error from its kind and a message for people. */
  constructor(code: BlobErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
