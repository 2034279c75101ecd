import type { OpenDocumentOptions } from "../requests/options.ts";
import { REQUEST_TIMEOUT_S } from "../requests/requests.ts";
import { OpenDocument } from "./document.ts";
import { DocumentSource, type DocumentSourceOptions } from "./source.ts";

/** What opening a document needs of the Agent. */
export interface Opening extends Pick<DocumentSourceOptions, "handlers"> {
  /** Asks the document's Computer with `client:get_dpe`. */
  getDpe(
    uri: string,
    options: { timeout: number; signal?: AbortSignal },
  ): ReturnType<DocumentSourceOptions["getDpe"]>;
  /** Returns another value once earlier URIs must not be used any longer. */
  session(): unknown;
}

/** Opens a document; the Computer, and each fetch after it, get the same time (spec §8.3). */
export function openDocument(
  uri: string,
  { getDpe, handlers, session }: Opening,
  { timeout = REQUEST_TIMEOUT_S, ...reading }: OpenDocumentOptions,
): Promise<OpenDocument> {
  const source = new DocumentSource(uri, {
    getDpe: (uri, signal) =>
      getDpe(uri, { timeout, ...(signal && { signal }) }),
    handlers,
    timeout,
  });
  return OpenDocument.open(source, session, reading);
}
