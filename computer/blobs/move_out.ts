import { Buffer } from "node:buffer";
import type { CallToolResult } from "../../protocol/mod.ts";
import { isBase64 } from "../util/base64.ts";
import type { BlobStore } from "./blob_store.ts";
import { writeHandle } from "./handle.ts";

/** The kind of the handles of results. */
export const RESULT_KIND = "result";
/** Maximum bytes of one piece of content: more than other SDKs take. */
export const MAX_CONTENT_BYTES: number = 100 * 2 ** 20;

/** Content is over a limit, and can neither be sent nor kept. */
export class ContentTooLargeError extends Error {}

type Block = CallToolResult["content"][number];

/**
 * Moves binary content that is larger than a budget out of a result, into the store; handles take its
 * place (0.4 §7.3).
 *
 * @param budget in bytes; smaller content stays
 * @returns the same result where nothing was moved
 * @throws {ContentTooLargeError} content is over a limit
 * @throws {Error} content could not be kept
 */
export async function moveOut(
  result: CallToolResult,
  store: BlobStore,
  budget: number,
): Promise<CallToolResult> {
  const isLarge = (block: Block) => decodedSize(binaryOf(block)) > budget;
  if (!result.content.some(isLarge)) return result;
  const content: Block[] = [];
  for (const block of result.content) {
    const base64 = binaryOf(block);
    const isMoved = isLarge(block) && isBase64(base64);
    content.push(isMoved ? await replace(block, base64, store) : block);
  }
  return { ...result, content };
}

/** Returns the binary content of a block, as base64; empty if it has none. */
function binaryOf(block: Block): string {
  if (block.type === "image" || block.type === "audio") return block.data;
  if (block.type !== "resource") return "";
  const { blob } = block.resource;
  return typeof blob === "string" ? blob : "";
}

async function replace(
  block: Block,
  base64: string,
  store: BlobStore,
): Promise<Block> {
  const size = decodedSize(base64);
  const most = Math.min(MAX_CONTENT_BYTES, store.maxBytes);
  if (size > most) {
    throw new ContentTooLargeError(
      `content of type ${block.type} has ${size} bytes, and at most ${most} can be fetched`,
    );
  }
  const bytes = decode(base64, size);
  const mimeType = block.type === "resource"
    ? block.resource.mimeType
    : "mimeType" in block
    ? block.mimeType
    : undefined;
  const sha256 = await store.add(bytes, mimeType ?? "application/octet-stream");
  const _meta = {
    ...block._meta,
    a2c_blob_handle: writeHandle({ kind: RESULT_KIND, sha256 }),
    a2c_total_size: bytes.length,
    a2c_sha256: sha256,
  };
  return block.type === "resource"
    ? { ...block, resource: { ...block.resource, blob: "" }, _meta }
    : { ...block, data: "", _meta } as Block;
}

/** Characters that are decoded at a time, since the runtime copies them first; a multiple of 4. */
const SLICE_CHARACTERS = 4 * 2 ** 20;

function decode(base64: string, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  let at = 0;
  for (let from = 0; from < base64.length; from += SLICE_CHARACTERS) {
    const slice = base64.slice(from, from + SLICE_CHARACTERS);
    at += bytes.write(slice, at, "base64");
  }
  return bytes;
}

/** Returns the number of bytes behind base64. */
const decodedSize = (base64: string): number =>
  base64.length / 4 * 3 - padding(base64);

const padding = (base64: string): number =>
  base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
