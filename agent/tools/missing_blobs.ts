import {
  type CallToolResult,
  ErrorCode,
  toolErrorResult,
} from "../../protocol/mod.ts";

/** Key of the handle for content that a Computer of a later protocol left out of a result. */
const BLOB_HANDLE_KEY = "a2c_blob_handle";

/**
 * Replaces a result whose binary content was left out with an error.
 *
 * Computers of the released Python SDK empty content larger than 32 KiB (`data: ""`) and add a
 * handle to fetch it. This Agent cannot fetch it, and an empty image must not pass for the image.
 */
export function refuseMissingBlobs(result: CallToolResult): CallToolResult {
  const missing = result.content.flatMap((block, i) => {
    const item: Fields = { ...block };
    const inner = isRecord(item.resource) ? item.resource : item;
    const handle = handleOf(item) ?? handleOf(inner);
    return handle !== undefined && isEmpty(inner)
      ? [describe(i, block.type, inner, handle)]
      : [];
  });
  if (missing.length === 0) return result;
  return toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `The tool ran, but the Computer left binary content out of its result, and this Agent cannot fetch it: ${
      missing.join(", ")
    }`,
    { a2c_missing_blobs: missing.length },
  );
}

type Fields = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null;

const metaOf = ({ meta, _meta }: Fields): Fields => ({
  ...(isRecord(meta) && meta),
  ...(isRecord(_meta) && _meta),
});

function handleOf(item: Fields): Fields | undefined {
  const meta = metaOf(item);
  return typeof meta[BLOB_HANDLE_KEY] === "string" ? meta : undefined;
}

const isEmpty = ({ data, blob }: Fields): boolean =>
  (data ?? "") === "" && (blob ?? "") === "";

function describe(
  index: number,
  type: string,
  { mimeType }: Fields,
  { a2c_total_size: size }: Fields,
): string {
  const details = [
    ...(typeof mimeType === "string" ? [mimeType] : []),
    ...(Number.isSafeInteger(size) ? [`${size} bytes`] : []),
  ];
  return `content[${index}] (${[type, ...details].join(", ")})`;
}
