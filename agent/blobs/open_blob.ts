import { beginFetch, type BlobPlace, verified } from "./fetch_blob.ts";

/** Opens bytes on a Computer as a stream; nothing is fetched before it is read. */
export function openBlob(
  place: BlobPlace,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const cancelled = new AbortController();
  const both = signal
    ? AbortSignal.any([signal, cancelled.signal])
    : cancelled.signal;
  const chunks = read(place, both);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      cancelled.abort(reason);
      // What is on its way fails with that reason, which nobody waits for.
      await chunks.return().catch(() => {});
    },
  }, { highWaterMark: 0 });
}

async function* read(
  place: BlobPlace,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  signal.throwIfAborted();
  for await (const chunk of verified(await beginFetch(place, signal))) {
    if (chunk.length > 0) yield chunk; // a byte stream has no empty chunks
  }
}
