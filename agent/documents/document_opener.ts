import type { OpenDocumentOptions } from "../requests/options.ts";
import * as queries from "../requests/queries.ts";
import { REQUEST_TIMEOUT_MS, type Requests } from "../requests/requests.ts";
import { OpenDocument } from "./document.ts";
import { DocumentSource, type DocumentSourceOptions } from "./source.ts";

/** Opens documents of Computers, whose URIs are valid for a session (spec §8.3). */
export class DocumentOpener {
  readonly #requests: Requests;
  readonly #handlers: DocumentSourceOptions["handlers"];
  #session = {};

  /** @param handlers fetch documents of further schemes */
  constructor(
    requests: Requests,
    handlers: DocumentSourceOptions["handlers"] = {},
  ) {
    this.#requests = requests;
    this.#handlers = handlers;
  }

  /** Invalidates all URIs that Computers have given so far. */
  endSession(): void {
    this.#session = {};
  }

  /** Opens a document; the timeout applies to the Computer, and to each fetch. */
  open(
    computer: string,
    uri: string,
    { timeoutMs = REQUEST_TIMEOUT_MS, ...reading }: OpenDocumentOptions,
  ): Promise<OpenDocument> {
    const source = new DocumentSource(uri, {
      getDpe: (uri, signal) =>
        queries.dpe(this.#requests, computer, uri, {
          timeoutMs,
          ...(signal && { signal }),
          ...(reading.reqId !== undefined && { reqId: reading.reqId }),
        }),
      handlers: this.#handlers,
      timeoutMs,
    });
    return OpenDocument.open(source, () => this.#session, reading);
  }
}
