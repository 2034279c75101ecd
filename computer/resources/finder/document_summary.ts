import {
  docRefOf,
  type DPEDocumentSummary,
  parseListedDpeUri,
  type Resource,
} from "../../../protocol/mod.ts";
import { isRecord } from "../../util/values.ts";
import { identityOf } from "../listed_uri.ts";

/** A document's entry in the catalogue, with warnings about it. */
export interface ReadSummary {
  /** The entry. */
  readonly summary: DPEDocumentSummary;
  /** Invalid fields that were replaced with defaults, one sentence each, for the log. */
  readonly warnings: readonly string[];
}

/**
 * Creates a document's entry in the catalogue from its resource (spec §8.4).
 *
 * @throws {ProtocolError} 4012 when its URI is not a document URI
 */
export function documentSummary(
  server: string,
  resource: Resource,
): ReadSummary {
  const listed = resource.uri ?? "";
  const { uri, warnings } = parseListedDpeUri(listed);
  const docRef = docRefOf(uri);
  const meta = isRecord(resource._meta) ? resource._meta : {};
  const annotations = isRecord(resource.annotations)
    ? resource.annotations
    : {};
  const keywords = Array.isArray(meta.keywords)
    ? meta.keywords.filter((word) => typeof word === "string")
    : undefined;
  const summary = text(resource.description);
  const lastModified = text(annotations.lastModified);
  return {
    summary: {
      doc_ref: docRef,
      uri: identityOf(listed),
      file_uri: text(meta.file_uri) ?? "",
      file_type: text(meta.file_type) ?? "",
      title: text(resource.title) || text(resource.name) || docRef,
      page_count: pageCount(meta.page_count),
      ...(keywords && { keywords }),
      ...(summary !== undefined && { summary }),
      server,
      ...(lastModified !== undefined && { last_modified: lastModified }),
    },
    warnings: isGiven(meta.page_count) && pageCount(meta.page_count) === 0
      ? [
        ...warnings,
        "_meta.page_count must be a whole number of at least 1; it counts as unknown",
      ]
      : warnings,
  };
}

const pageCount = (value: unknown): number =>
  Number.isSafeInteger(value) && Number(value) >= 1 ? Number(value) : 0;

const text = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null;
