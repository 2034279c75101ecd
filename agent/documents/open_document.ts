import type { OpenDocumentOptions } from "../requests/options.ts";
import { REQUEST_TIMEOUT_MS } from "../requests/requests.ts";
import { OpenDocument } from "./document.ts";
import { DocumentSource, type DocumentSourceOptions } from "./source.ts";

/** What {@linkcode openDocument} needs of the Agent. */
export interface Opening extends Pick<DocumentSourceOptions, "handlers"> {
  /** Requests the address from the document's Computer with `client:get_dpe`. */
  getDpe(
    uri: string,
    options: { timeoutMs: number; signal?: AbortSignal },
  ): ReturnType<DocumentSourceOptions["getDpe"]>;
  /** Returns another value once earlier URIs are invalid. */
  session(): unknown;
}

/** Opens a document; the timeout applies to the Computer, and to each fetch (spec §8.3). */
export function openDocument(
  uri: string,
  { getDpe, handlers, session }: Opening,
  { timeoutMs = REQUEST_TIMEOUT_MS, ...reading }: OpenDocumentOptions,
): Promise<OpenDocument> {
  const source = new DocumentSource(uri, {
    getDpe: (uri, signal) =>
      getDpe(uri, { timeoutMs, ...(signal && { signal }) }),
    handlers,
    timeoutMs,
  });
  return OpenDocument.open(source, session, reading);
}
