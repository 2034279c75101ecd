/**
 * Where the text of documents comes from (protocol §8.3).
 *
 * {@linkcode fetchText} fetches what is at an address, over HTTP, from a file, or through the handler of
 * another scheme.
 *
 * @module
 */
import { nodeModule } from "../client/node_modules.ts";
import { abortable } from "../shared/async.ts";

/** Returns whether a URI is of a scheme. */
export const isScheme = (uri: string, scheme: string): boolean =>
  uri.toLowerCase().startsWith(`${scheme}:`);

/**
 * Fetches the text at a URI of one scheme.
 *
 * @param uri as given by a Computer's resolver
 * @returns undefined if the URI is stale; the Computer is then asked for a new one
 */
export type DocumentHandler = (
  uri: string,
  options: { signal: AbortSignal },
) => Promise<string | undefined>;

/** HTTP statuses of a stale URI; 403 means an expired signature. */
const STALE_STATUSES = [403, 404, 410];
const MAX_DOCUMENT_BYTES = 64 * 2 ** 20;

/**
 * Fetches text over HTTP, from a file, or through the handler of another scheme.
 *
 * @param handlers by scheme, without the colon; they take precedence over the built-in ones
 * @returns undefined if the URI is stale
 * @throws {DocumentError} `unsupported` or `unreachable`
 * @throws the signal's reason on abort
 */
export async function fetchText(
  uri: string,
  handlers: Readonly<Record<string, DocumentHandler>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const scheme = uri.slice(0, uri.indexOf(":")).toLowerCase();
  const handler = Object.hasOwn(handlers, scheme)
    ? handlers[scheme]
    : BUILT_IN_HANDLERS.get(scheme);
  if (!handler) {
    const message =
      `Cannot fetch a ${scheme}: URI; give the Agent a document handler for it`;
    throw new DocumentError("unsupported", message);
  }
  signal.throwIfAborted();
  try {
    return await abortable(handler(uri, { signal }), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DocumentError) throw error;
    // The error of `fetch` quotes the URI, including the signature that grants access.
    const host = URL.canParse(uri) ? new URL(uri).host : "";
    const where = host === "" ? "" : ` of ${host}`;
    throw new DocumentError(
      "unreachable",
      `Cannot fetch a ${scheme}: URI${where}`,
      handler === fetchHttp ? {} : { cause: error },
    );
  }
}

const fetchHttp: DocumentHandler = async (uri, { signal }) => {
  const response = await fetch(uri, { signal });
  if (!response.ok) {
    await response.body?.cancel();
    if (STALE_STATUSES.includes(response.status)) return undefined;
    const message =
      `Cannot fetch: the document's storage answered ${response.status}`;
    throw new DocumentError("unreachable", message);
  }
  return await readText(response);
};

/** Reads with a reader, since not all browsers can iterate over a body. */
async function readText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = "";
  let bytes = 0;
  for (;;) {
    const chunk = await reader?.read();
    if (!chunk?.value) return text + decoder.decode();
    bytes += chunk.value.length;
    if (bytes > MAX_DOCUMENT_BYTES) {
      await reader?.cancel();
      throw tooLarge();
    }
    text += decoder.decode(chunk.value, { stream: true });
  }
}

const readFile: DocumentHandler = async (uri, { signal }) => {
  const fs = nodeModule("node:fs/promises");
  if (!fs) {
    throw new DocumentError("unsupported", "Cannot read a file: URI here");
  }
  try {
    const file = new URL(uri);
    const stat = await fs.stat(file);
    // A device or a pipe could go on forever.
    if (!stat.isFile()) {
      throw new DocumentError("unreachable", "Cannot read: it is not a file");
    }
    if (stat.size > MAX_DOCUMENT_BYTES) throw tooLarge();
    return await fs.readFile(file, { encoding: "utf8", signal });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

const BUILT_IN_HANDLERS: ReadonlyMap<string, DocumentHandler> = new Map([
  ["http", fetchHttp],
  ["https", fetchHttp],
  ["file", readFile],
]);

const tooLarge = (): DocumentError =>
  new DocumentError(
    "unreachable",
    `Cannot read: it is larger than ${MAX_DOCUMENT_BYTES} bytes`,
  );

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";

/**
 * The cause of a {@linkcode DocumentError}:
 *
 * - `unsupported`: the URI's scheme has no handler, or a remote document refers to a local file
 * - `unreachable`: no answer, a failure, or a timeout
 * - `invalid`: the content is not JSON, or not a document
 */
export type DocumentErrorCode = "unsupported" | "unreachable" | "invalid";

/** Thrown when a document cannot be read; its message never contains the URI it was fetched from. */
export class DocumentError extends Error {
  /** Always `"DocumentError"`. */
  override readonly name = "DocumentError";
  /** The kind of failure. */
  readonly code: DocumentErrorCode;

  /**
   * Creates an error.
   *
   * @param message one sentence that names the problem
   */
  constructor(
    code: DocumentErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
  }
}
