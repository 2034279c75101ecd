import {
  type DPEDocument,
  type DPEElement,
  type DPEPage,
  ErrorCode,
  ProtocolError,
} from "../../protocol/mod.ts";
import { toMarkdown } from "./markdown.ts";
import type { DocumentSource, FoundDocument } from "./source.ts";

/** Options for reading a part of a document. */
export interface ReadOptions {
  /** Aborts the reading, which rejects with the signal's reason. */
  signal?: AbortSignal;
}

/**
 * A document that an Agent opened (spec §8.3).
 *
 * Pages that the document does not hold itself are fetched when they are asked for, each time.
 * Where they are is forgotten when the Agent leaves its office or loses its connection, and asked
 * for again then, or when it went stale.
 */
export class OpenDocument {
  readonly #source: DocumentSource;
  readonly #session: () => unknown;
  #found: FoundDocument;
  #foundIn: unknown;

  /** @internal */
  private constructor(
    source: DocumentSource,
    session: () => unknown,
    found: FoundDocument,
    foundIn: unknown,
  ) {
    this.#source = source;
    this.#session = session;
    this.#found = found;
    this.#foundIn = foundIn;
  }

  /**
   * Fetches a document, without the pages that it does not hold itself.
   *
   * @internal
   * @param session returns another value once earlier URIs must not be used any longer
   */
  static async open(
    source: DocumentSource,
    session: () => unknown,
    { signal }: ReadOptions,
  ): Promise<OpenDocument> {
    const foundIn = session();
    return new OpenDocument(
      source,
      session,
      await source.find(signal),
      foundIn,
    );
  }

  /** Its `dpe://` URI. */
  get uri(): string {
    return this.#source.uri;
  }

  /** What it says about itself. */
  get info(): Omit<DPEDocument, "pages"> {
    const { pages: _, ...info } = this.#found.document;
    return info;
  }

  /** The `page_index` of each page, in reading order. */
  get pageIndexes(): number[] {
    return this.#found.document.pages.map(({ page_index }) => page_index);
  }

  /**
   * Reads a page with its elements.
   *
   * @param index its `page_index`
   * @throws {ProtocolError} 4202 there is no such page; 4201 it is not where it should be
   * @throws {DocumentError}
   */
  async page(index: number, { signal }: ReadOptions = {}): Promise<DPEPage> {
    for (let attempt = 0; attempt < 2; attempt++) {
      if (attempt > 0 || this.#foundIn !== this.#session()) {
        await this.#findAgain(signal);
      }
      const { document, at } = this.#found;
      const listed = document.pages.find((page) => page.page_index === index);
      if (!listed) throw this.#noPage(index);
      const { uri: _, ...known } = listed;
      if (known.elements) return known;
      const page = await this.#source.page(listed, at, signal);
      if (page) return { ...known, ...page };
    }
    throw new ProtocolError(
      ErrorCode.DOCUMENT_NOT_FOUND,
      `Cannot read page ${index} of ${this.uri}: nothing is where it should be`,
      { fields: { uri: this.uri } },
    );
  }

  /** Reads all pages in reading order, each when it is asked for. */
  async *pages(options: ReadOptions = {}): AsyncGenerator<DPEPage, void, void> {
    for (const index of this.pageIndexes) yield await this.page(index, options);
  }

  /**
   * Finds an element, page by page.
   *
   * @throws {ProtocolError} 4203 there is no such element
   * @throws {DocumentError}
   */
  async element(id: string, options: ReadOptions = {}): Promise<DPEElement> {
    for await (const { elements = [] } of this.pages(options)) {
      const element = elements.find(({ element_id }) => element_id === id);
      if (element) return element;
    }
    throw new ProtocolError(
      ErrorCode.ELEMENT_NOT_FOUND,
      `There is no element "${id}" in ${this.uri}`,
      { fields: { uri: this.uri } },
    );
  }

  /** Writes the whole document as Markdown, for the input of a language model. */
  async toMarkdown(options: ReadOptions = {}): Promise<string> {
    const pages: DPEPage[] = [];
    for await (const page of this.pages(options)) pages.push(page);
    return toMarkdown(this.info, pages);
  }

  async #findAgain(signal: AbortSignal | undefined): Promise<void> {
    const session = this.#session();
    this.#found = await this.#source.find(signal);
    this.#foundIn = session;
  }

  #noPage(index: number): ProtocolError {
    const { pages } = this.#found.document;
    return new ProtocolError(
      ErrorCode.PAGE_OUT_OF_RANGE,
      `There is no page ${index} in ${this.uri}: it has ${pages.length} pages`,
      { fields: { uri: this.uri } },
    );
  }
}
