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
  /** Asks the document's Computer with `client:get_dpe`, which is bounded already. */
  readonly getDpe: (
    uri: string,
    signal: AbortSignal | undefined,
  ) => Promise<GetDPERet>;
  /** For schemes besides `http`, `https` and `file`. */
  readonly handlers: Readonly<Record<string, DocumentHandler>>;
  /** Seconds for each fetch. */
  readonly timeout: number;
}

/** A document and where it was found. */
export interface FoundDocument {
  /** What is there. */
  readonly document: DPEDocument;
  /** What the URIs of its pages are relative to; valid in this session only. */
  readonly at: string;
}

/** Gets a document and its pages from wherever the Computer put them. */
export class DocumentSource {
  /** The document's `dpe://` URI. */
  readonly uri: string;
  readonly #options: DocumentSourceOptions;

  /** Makes a source; sends no request yet. */
  constructor(uri: string, options: DocumentSourceOptions) {
    this.uri = uri;
    this.#options = options;
  }

  /**
   * Asks the Computer where the document is, and fetches it.
   *
   * @throws {ProtocolError} as `client:get_dpe` is answered; 4201 nothing is there
   * @throws {DocumentError}
   */
  async find(signal: AbortSignal | undefined): Promise<FoundDocument> {
    const { text, at } = await this.#resolve(this.uri, signal);
    return { document: this.#read(text, parseDPEDocument), at };
  }

  /**
   * Fetches a page of a manifest; undefined when its URI went stale.
   *
   * @param at where the document was found
   */
  async page(
    { uri = "", page_index }: DPEPage,
    at: string,
    signal: AbortSignal | undefined,
  ): Promise<DPEPage | undefined> {
    const target = resolveUri(uri, at);
    if (target === undefined) {
      throw this.#invalid(`the uri of page ${page_index} is none`);
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

  /** Requests a new URI once when the first one is stale (spec §8.3). */
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
      `Cannot open ${uri}: nothing is where the Computer says that it is`,
      { fields: { uri } },
    );
  }

  /** Keeps a remote document from naming files of this machine. */
  async #fetch(
    uri: string,
    at: string,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    if (isScheme(uri, "file") && !isScheme(at, "file")) {
      throw new DocumentError(
        "unsupported",
        `Cannot read ${this.uri}: it names a file, but is no file itself`,
      );
    }
    const late = new AbortController();
    const { timeout } = this.#options;
    const timer = setTimeout(() =>
      late.abort(
        new DocumentError(
          "unreachable",
          `Cannot read ${this.uri}: nothing came within ${timeout} s`,
        ),
      ), timeout * 1000);
    try {
      return await fetchText(
        uri,
        this.#options.handlers,
        signal ? AbortSignal.any([signal, late.signal]) : late.signal,
      );
    } finally {
      clearTimeout(timer);
    }
  }

  #read<T>(text: string, parse: Parser<T>): T {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch (cause) {
      // The parser quotes what it cannot read; that may be anything.
      throw this.#invalid("what is there is not JSON", cause);
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
