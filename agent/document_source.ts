/**
 * Where the text of documents comes from (spec §8.3).
 *
 * A `dpe://` URI becomes an address at its Computer; {@linkcode fetchText} fetches what is there, over
 * HTTP, from a file, or through the handler of another scheme. A stale address is resolved once more.
 *
 * @module
 */
import { builtin } from "./bytes.ts";
import {
  type DPEDocument,
  type DPEPage,
  ErrorCode,
  type GetDPERet,
  parseDPEDocument,
  parseDPEPage,
  type Parser,
  ProtocolError,
} from "../protocol/mod.ts";
import { abortable, withDeadline } from "../shared/async.ts";

/** What a {@linkcode DocumentSource} needs of the Agent. */
export interface DocumentSourceOptions {
  /** Requests the address from the document's Computer with `client:get_dpe`; has its own timeout. */
  readonly getDpe: (
    uri: string,
    signal: AbortSignal | undefined,
  ) => Promise<GetDPERet>;
  /** Handlers for schemes other than `http`, `https` and `file`. */
  readonly handlers: Readonly<Record<string, DocumentHandler>>;
  /** Timeout of each fetch in milliseconds. */
  readonly timeoutMs: number;
}

/** A document with its address. */
export interface FoundDocument {
  /** The document. */
  readonly document: DPEDocument;
  /** Its address, the base URI of its pages; valid in this session only. */
  readonly at: string;
}

/** Fetches a document and its pages from where the Computer published them. */
export class DocumentSource {
  /** The document's `dpe://` URI. */
  readonly uri: string;
  readonly #options: DocumentSourceOptions;

  /** Creates a source; sends no request. */
  constructor(uri: string, options: DocumentSourceOptions) {
    this.uri = uri;
    this.#options = options;
  }

  /**
   * Requests the document's address from the Computer, and fetches it.
   *
   * @throws {ProtocolError} an error of `client:get_dpe`; 4201 nothing is there
   * @throws {DocumentError}
   */
  async find(signal: AbortSignal | undefined): Promise<FoundDocument> {
    const { text, at } = await this.#resolve(this.uri, signal);
    return { document: this.#read(text, parseDPEDocument), at };
  }

  /**
   * Fetches a page of a manifest; undefined if its URI is stale.
   *
   * @param at address of the document
   */
  async page(
    { uri = "", page_index }: DPEPage,
    at: string,
    signal: AbortSignal | undefined,
  ): Promise<DPEPage | undefined> {
    const target = resolveUri(uri, at);
    if (target === undefined) {
      throw this.#invalid(`the uri of page ${page_index} is not valid`);
    }
    const text = isScheme(target, "dpe")
      ? (await this.#resolve(target, signal)).text
      : await this.#fetch(target, at, signal);
    return text === undefined ? undefined : this.#readPage(text, page_index);
  }

  #readPage(text: string, index: number): DPEPage {
    const page = this.#read(text, parseDPEPage);
    if (page.elements) return page;
    throw this.#invalid(`the JSON of page ${index} has no elements`);
  }

  /** Requests a new URI once if the first one is stale (spec §8.3). */
  async #resolve(
    uri: string,
    signal: AbortSignal | undefined,
  ): Promise<{ text: string; at: string }> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const { uri: at } = await this.#options.getDpe(uri, signal);
      const text = await this.#fetch(at, at, signal);
      if (text !== undefined) return { text, at };
    }
    throw new ProtocolError(
      ErrorCode.DOCUMENT_NOT_FOUND,
      `Cannot open ${uri}: nothing is at the address that the Computer gave`,
      { fields: { uri } },
    );
  }

  /** Fetches a text; a remote document must not refer to files of this machine. */
  async #fetch(
    uri: string,
    at: string,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    if (isScheme(uri, "file") && !isScheme(at, "file")) {
      throw new DocumentError(
        "unsupported",
        `Cannot read ${this.uri}: it refers to a local file, but is not local itself`,
      );
    }
    const { timeoutMs, handlers } = this.#options;
    return await withDeadline(
      timeoutMs,
      (signal) => fetchText(uri, handlers, signal),
      {
        signal,
        error: () =>
          new DocumentError(
            "unreachable",
            `Cannot read ${this.uri}: no answer within ${timeoutMs / 1000} s`,
          ),
      },
    );
  }

  #read<T>(text: string, parse: Parser<T>): T {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch (cause) {
      throw this.#invalid("it is not JSON", cause);
    }
    try {
      return parse(json);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw this.#invalid(why, cause);
    }
  }

  #invalid(why: string, cause?: unknown): DocumentError {
    return new DocumentError("invalid", `Cannot read ${this.uri}: ${why}`, {
      ...(cause !== undefined && { cause }),
    });
  }
}

const isScheme = (uri: string, scheme: string): boolean =>
  uri.toLowerCase().startsWith(`${scheme}:`);

function resolveUri(uri: string, base: string): string | undefined {
  if (isScheme(uri, "dpe")) return uri;
  try {
    return new URL(uri, base).href;
  } catch {
    return undefined;
  }
}

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
    throw new DocumentError(
      "unsupported",
      `Cannot fetch a ${scheme}: URI; give the Agent a document handler for it`,
    );
  }
  signal.throwIfAborted();
  try {
    return await abortable(handler(uri, { signal }), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DocumentError) throw error;
    // The error of `fetch` quotes the URI, including the signature that grants access.
    throw new DocumentError(
      "unreachable",
      `Cannot fetch a ${scheme}: URI${where(uri)}`,
      handler === fetchHttp ? {} : { cause: error },
    );
  }
}

function where(uri: string): string {
  const host = URL.canParse(uri) ? new URL(uri).host : "";
  return host === "" ? "" : ` of ${host}`;
}

const fetchHttp: DocumentHandler = async (uri, { signal }) => {
  const response = await fetch(uri, { signal });
  if (!response.ok) {
    await response.body?.cancel();
    if (STALE_STATUSES.includes(response.status)) return undefined;
    throw new DocumentError(
      "unreachable",
      `Cannot fetch: the document's storage answered ${response.status}`,
    );
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
  const fs = builtin("node:fs/promises");
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
