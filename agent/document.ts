/**
 * A document that an Agent opened, and its form as Markdown (spec §8.3).
 *
 * The document is fetched once; its pages when they are read, each time. Addresses are valid for a
 * session only, so they are resolved again when the Agent has reconnected.
 *
 * @module
 */
import {
  DocumentSource,
  type DocumentSourceOptions,
  type FoundDocument,
} from "./document_source.ts";
import type { AgentRequestOptions, OpenDocumentOptions } from "./options.ts";
import { dpe } from "./queries.ts";
import { present } from "../shared/checks.ts";
import { REQUEST_TIMEOUT_MS, type Requests } from "./requests.ts";
import {
  type DPEDocument,
  type DPEElement,
  type DPEPage,
  ErrorCode,
  ProtocolError,
} from "../protocol/mod.ts";

/**
 * A document that an Agent opened (spec §8.3).
 *
 * Pages that the document does not contain are fetched each time they are read. Their addresses are
 * resolved again after the Agent left its office or lost its connection, and when they are stale.
 */
export class OpenDocument {
  readonly #source: DocumentSource;
  readonly #session: () => unknown;
  #found!: FoundDocument;
  #foundIn: unknown;

  /** @internal */
  private constructor(source: DocumentSource, session: () => unknown) {
    this.#source = source;
    this.#session = session;
  }

  /**
   * Fetches a document, without the pages that it does not contain.
   *
   * @internal
   * @param session returns another value once earlier URIs are invalid
   */
  static async open(
    source: DocumentSource,
    session: () => unknown,
    { signal }: AgentRequestOptions,
  ): Promise<OpenDocument> {
    const document = new OpenDocument(source, session);
    await document.#find(signal);
    return document;
  }

  /** Its `dpe://` URI. */
  get uri(): string {
    return this.#source.uri;
  }

  /** The document's own metadata. */
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
   * @throws {ProtocolError} 4202 there is no such page; 4201 it is not at its address
   * @throws {DocumentError}
   */
  async page(
    index: number,
    { signal }: AgentRequestOptions = {},
  ): Promise<DPEPage> {
    for (let attempt = 0; attempt < 2; attempt++) {
      if (attempt > 0 || this.#foundIn !== this.#session()) {
        await this.#find(signal);
      }
      const { document, at } = this.#found;
      const listed = document.pages.find((page) => page.page_index === index);
      if (!listed) {
        throw new ProtocolError(
          ErrorCode.PAGE_OUT_OF_RANGE,
          `There is no page ${index} in ${this.uri}: it has ${document.pages.length} pages`,
          { fields: { uri: this.uri } },
        );
      }
      const { uri: _, ...known } = listed;
      if (known.elements) return known;
      const page = await this.#source.page(listed, at, signal);
      if (page) return { ...known, ...page };
    }
    throw new ProtocolError(
      ErrorCode.DOCUMENT_NOT_FOUND,
      `Cannot read page ${index} of ${this.uri}: nothing is at its address`,
      { fields: { uri: this.uri } },
    );
  }

  /** Reads all pages lazily, in reading order. */
  async *pages(
    options: AgentRequestOptions = {},
  ): AsyncGenerator<DPEPage, void, void> {
    for (const index of this.pageIndexes) yield await this.page(index, options);
  }

  /**
   * Finds an element by reading page by page.
   *
   * @throws {ProtocolError} 4203 there is no such element
   * @throws {DocumentError}
   */
  async element(
    id: string,
    options: AgentRequestOptions = {},
  ): Promise<DPEElement> {
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

  /** Converts the whole document to Markdown, as input for a language model. */
  async toMarkdown(options: AgentRequestOptions = {}): Promise<string> {
    const pages: DPEPage[] = [];
    for await (const page of this.pages(options)) pages.push(page);
    return toMarkdown(this.info, pages);
  }

  async #find(signal: AbortSignal | undefined): Promise<void> {
    const session = this.#session();
    this.#found = await this.#source.find(signal);
    this.#foundIn = session;
  }
}

/**
 * Opens a document; the timeout applies to the Computer, and to each fetch.
 *
 * @param session returns another value once the URIs that Computers have given are invalid (spec §8.3)
 */
export function openDocument(
  requests: Requests,
  { computer, uri, handlers = {}, session }: {
    readonly computer: string;
    readonly uri: string;
    readonly handlers: DocumentSourceOptions["handlers"] | undefined;
    readonly session: () => unknown;
  },
  { timeoutMs = REQUEST_TIMEOUT_MS, ...reading }: OpenDocumentOptions,
): Promise<OpenDocument> {
  const { reqId } = reading;
  const source = new DocumentSource(uri, {
    getDpe: (uri, signal) =>
      dpe(requests, computer, uri, present({ timeoutMs, signal, reqId })),
    handlers,
    timeoutMs,
  });
  return OpenDocument.open(source, session, reading);
}

/** Formatters by category, in lower case and letters only; other categories become plain text. */
const FORMATTERS: ReadonlyMap<string, (text: string) => string> = new Map([
  ["title", (text) => `### ${oneLine(text)}`],
  ["heading", (text) => `### ${oneLine(text)}`],
  ["listitem", (text) => `- ${text.replaceAll("\n", "\n  ")}`],
  ["code", fenced],
  ["codesnippet", fenced],
  ["formula", (text) => `$$\n${text}\n$$`],
  ["image", (text) => `[Image: ${oneLine(text)}]`],
  ["quote", (text) => `> ${text.replaceAll("\n", "\n> ")}`],
]);

/**
 * Converts a document to Markdown for a language model (spec §8.3).
 *
 * A `#` heading for the document, `##` for each page that has a title, `###` for titles within;
 * elements of unknown categories become plain text, empty ones are left out.
 *
 * @param pages with their elements, in reading order
 */
export function toMarkdown(
  { title, summary }: Pick<DPEDocument, "title" | "summary">,
  pages: readonly DPEPage[],
): string {
  const blocks = [
    `# ${oneLine(title)}`,
    ...(summary ? [`> ${oneLine(summary)}`] : []),
    ...pages.flatMap((page) => [
      ...(page.title ? [`## ${oneLine(page.title)}`] : []),
      ...(page.elements ?? []).map(toBlock).filter((block) => block !== ""),
    ]),
  ];
  return `${blocks.join("\n\n")}\n`;
}

function toBlock(element: DPEElement): string {
  const text = textOf(element).trim();
  if (text === "") return "";
  const category = element.category.toLowerCase().replaceAll(/[^a-z]/g, "");
  return FORMATTERS.get(category)?.(text) ?? text;
}

/** Returns the first that is not empty of `text`, `summary`, and the `text` of `content`. */
const textOf = ({ text, summary, content }: DPEElement): string =>
  text || summary || (typeof content?.text === "string" ? content.text : "");

/** Wraps a text in a fence longer than any in the text. */
function fenced(text: string): string {
  const runs = text.match(/`{3,}/g) ?? [];
  const fence = "`".repeat(Math.max(3, ...runs.map((r) => r.length + 1)));
  return `${fence}\n${text}\n${fence}`;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();
