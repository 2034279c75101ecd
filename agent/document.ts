/**
 * A document that an Agent opened, and its form as Markdown (protocol §8.3).
 *
 * The document is fetched once; its pages when they are read, each time. Addresses are valid for a
 * session only, so they are resolved again when the Agent has reconnected.
 *
 * @module
 */
import {
  DocumentError,
  type DocumentHandler,
  fetchText,
  isScheme,
} from "./document_source.ts";
import {
  type AgentRequestOptions,
  OPEN_DOCUMENT_NAMES,
  type OpenDocumentOptions,
  REQUEST_NAMES,
} from "./options.ts";
import { askTimed } from "./queries.ts";
import { REQUEST_TIMEOUT_MS, type Requests } from "./requests.ts";
import {
  type DPEDocument,
  type DPEElement,
  type DPEPage,
  ErrorCode,
  GET_DPE_EVENT,
  type GetDPERet,
  parseDPEDocument,
  parseDPEPage,
  type Parser,
  ProtocolError,
} from "../protocol/mod.ts";
import { withDeadline } from "../shared/async.ts";
import { checkNames, present } from "../shared/checks.ts";

/** Where a document comes from. */
interface DocumentSource {
  /** Requests an address from the document's Computer with `client:get_dpe`; has its own timeout. */
  readonly getDpe: (uri: string, signal?: AbortSignal) => Promise<GetDPERet>;
  /** Handlers for schemes other than `http`, `https` and `file`. */
  readonly handlers: Readonly<Record<string, DocumentHandler>>;
  /** Returns another value once the URIs that Computers have given are invalid (protocol §8.3). */
  readonly session: () => unknown;
  /** Timeout of each fetch in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * A document that an Agent opened (protocol §8.3).
 *
 * Pages that the document does not contain are fetched each time they are read. Their addresses are
 * resolved again after the Agent left its office or lost its connection, and when they are stale.
 */
export class OpenDocument {
  /** Its `dpe://` URI. */
  readonly uri: string;
  readonly #source: DocumentSource;
  /** The document, and its address: the base URI of its pages, valid in this session only. */
  #found!: { document: DPEDocument; at: string; session: unknown };

  /** @internal */
  private constructor(uri: string, source: DocumentSource) {
    this.uri = uri;
    this.#source = source;
  }

  /**
   * Fetches a document, without the pages that it does not contain.
   *
   * @internal
   */
  static async open(
    uri: string,
    source: DocumentSource,
    signal?: AbortSignal,
  ): Promise<OpenDocument> {
    const document = new OpenDocument(uri, source);
    await document.#find(signal);
    return document;
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
    options: AgentRequestOptions = {},
  ): Promise<DPEPage> {
    checkNames(options, REQUEST_NAMES, "OpenDocument.page()");
    const { signal } = options;
    for (let attempt = 0; attempt < 2; attempt++) {
      if (attempt > 0 || this.#found.session !== this.#source.session()) {
        await this.#find(signal);
      }
      const { pages } = this.#found.document;
      const listed = pages.find((page) => page.page_index === index);
      if (!listed) {
        const why =
          `There is no page ${index} in ${this.uri}: it has ${pages.length} pages`;
        throw errorOf(ErrorCode.PAGE_OUT_OF_RANGE, why, this.uri);
      }
      const { uri: _, ...known } = listed;
      if (known.elements) return known;
      const page = await this.#fetchPage(listed, signal);
      if (page) return { ...known, ...page };
    }
    const why =
      `Cannot read page ${index} of ${this.uri}: nothing is at its address`;
    throw errorOf(ErrorCode.DOCUMENT_NOT_FOUND, why, this.uri);
  }

  /** Reads all pages lazily, in reading order. */
  async *pages(
    options: AgentRequestOptions = {},
  ): AsyncGenerator<DPEPage, void, void> {
    checkNames(options, REQUEST_NAMES, "OpenDocument.pages()");
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
    checkNames(options, REQUEST_NAMES, "OpenDocument.element()");
    for await (const { elements = [] } of this.pages(options)) {
      const element = elements.find(({ element_id }) => element_id === id);
      if (element) return element;
    }
    const why = `There is no element "${id}" in ${this.uri}`;
    throw errorOf(ErrorCode.ELEMENT_NOT_FOUND, why, this.uri);
  }

  /** Converts the whole document to Markdown, as input for a language model. */
  async toMarkdown(options: AgentRequestOptions = {}): Promise<string> {
    checkNames(options, REQUEST_NAMES, "OpenDocument.toMarkdown()");
    const pages: DPEPage[] = [];
    for await (const page of this.pages(options)) pages.push(page);
    return toMarkdown(this.info, pages);
  }

  async #find(signal: AbortSignal | undefined): Promise<void> {
    const session = this.#source.session();
    const { text, at } = await this.#resolve(this.uri, signal);
    const document = this.#parse(text, parseDPEDocument);
    this.#found = { document, at, session };
  }

  /** Fetches a page of a manifest; undefined if its URI is stale. */
  async #fetchPage(
    { uri = "", page_index }: DPEPage,
    signal: AbortSignal | undefined,
  ): Promise<DPEPage | undefined> {
    const { at } = this.#found;
    const target = resolveUri(uri, at);
    if (target === undefined) {
      throw this.#invalid(`the uri of page ${page_index} is not valid`);
    }
    const text = isScheme(target, "dpe")
      ? (await this.#resolve(target, signal)).text
      : await this.#fetch(target, at, signal);
    if (text === undefined) return undefined;
    const page = this.#parse(text, parseDPEPage);
    if (page.elements) return page;
    throw this.#invalid(`the JSON of page ${page_index} has no elements`);
  }

  /** Requests an address, and fetches what is there; requests a new one once if the first is stale (protocol §8.3). */
  async #resolve(
    uri: string,
    signal: AbortSignal | undefined,
  ): Promise<{ text: string; at: string }> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const { uri: at } = await this.#source.getDpe(uri, signal);
      const text = await this.#fetch(at, at, signal);
      if (text !== undefined) return { text, at };
    }
    const why =
      `Cannot open ${uri}: nothing is at the address that the Computer gave`;
    throw errorOf(ErrorCode.DOCUMENT_NOT_FOUND, why, uri);
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
    const { timeoutMs, handlers } = this.#source;
    const late = `Cannot read ${this.uri}: no answer within ${
      timeoutMs / 1000
    } s`;
    return await withDeadline(
      timeoutMs,
      (signal) => fetchText(uri, handlers, signal),
      { signal, error: () => new DocumentError("unreachable", late) },
    );
  }

  #parse<T>(text: string, parse: Parser<T>): T {
    try {
      return parse(JSON.parse(text));
    } catch (cause) {
      const isJson = cause instanceof ProtocolError;
      throw this.#invalid(isJson ? cause.message : "it is not JSON", { cause });
    }
  }

  #invalid(why: string, options?: ErrorOptions): DocumentError {
    return new DocumentError(
      "invalid",
      `Cannot read ${this.uri}: ${why}`,
      options,
    );
  }
}

function resolveUri(uri: string, base: string): string | undefined {
  if (isScheme(uri, "dpe")) return uri;
  return URL.canParse(uri, base) ? new URL(uri, base).href : undefined;
}

const errorOf = (code: number, message: string, uri: string): ProtocolError =>
  new ProtocolError(code, message, { fields: { uri } });

/** Opens a document; the timeout applies to the Computer, and to each fetch. */
export async function openDocument(
  requests: Requests,
  { computer, uri, handlers = {}, session }:
    & { readonly computer: string; readonly uri: string }
    & { readonly handlers: DocumentSource["handlers"] | undefined }
    & Pick<DocumentSource, "session">,
  options: OpenDocumentOptions,
): Promise<OpenDocument> {
  checkNames(options, OPEN_DOCUMENT_NAMES, "openDocument()");
  const { timeoutMs = REQUEST_TIMEOUT_MS, signal, reqId } = options;
  return await OpenDocument.open(uri, {
    getDpe: (uri, signal) => {
      const place = { computer, uri };
      const options = present({ timeoutMs, signal, reqId });
      return askTimed(requests, GET_DPE_EVENT, place, options);
    },
    handlers,
    session,
    timeoutMs,
  }, signal);
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
 * Converts a document to Markdown for a language model (protocol §8.3).
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
