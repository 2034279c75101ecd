import { withDeadline } from "../../shared/async.ts";
import {
  type DPEDocument,
  type DPEPage,
  ErrorCode,
  type GetDPERet,
  parseDPEDocument,
  parseDPEPage,
  type Parser,
  ProtocolError,
} from "../../protocol/mod.ts";
import { DocumentError } from "./errors.ts";
import { type DocumentHandler, fetchText } from "./fetch_text.ts";

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
