import * as z from "../validation/schema.ts";
import { listOf, plainObject } from "../validation/plain_values.ts";
import { type Parser, parser } from "../validation/parser.ts";

/** A document that an Agent fetches from the URI of `get_dpe` (spec §8.3). */
export interface DPEDocument {
  /** The document's key, given by its MCP server. */
  doc_ref: string;
  /** Its `dpe://` URI. */
  uri: string;
  /** For people. */
  title: string;
  /** All pages in reading order; each with its elements, or with the URI of them. */
  pages: DPEPage[];
  /** The original file. */
  file_uri?: string;
  /** `xlsx`, `pdf`, `pptx`, … */
  file_type?: string;
  /** A summary. */
  summary?: string;
  /** Number of pages of the original; absent or 0 means unknown. */
  page_count?: number;
  /** Its keywords. */
  keywords?: string[];
  /** ISO 8601. */
  last_modified?: string;
}

/** A page; it has `elements`, or in a manifest the `uri` of its own JSON (spec §8.3). */
export interface DPEPage {
  /** From 0. */
  page_index: number;
  /** For people. */
  title?: string;
  /** Its elements, in reading order. */
  elements?: DPEElement[];
  /** The URI of the page with its elements; absolute, or relative to that of the document. */
  uri?: string;
}

/** An element of a page; its category may define further fields (spec §8.3). */
export interface DPEElement {
  /** Unique in its document. */
  element_id: string;
  /** The kind of element; treat an unknown one as plain text. */
  category: string;
  /** The text. */
  text?: string;
  /** A short summary. */
  summary?: string;
  /** Depends on the category. */
  content?: Record<string, unknown>;
  /** Additional data. */
  metadata?: Record<string, unknown>;
  /** Fields of the category. */
  [field: string]: unknown;
}

/** An optional field, which some programs write as null. */
const withoutNulls = z.pipe(
  plainObject,
  z.transform((data) =>
    Object.fromEntries(
      Object.entries(data).filter(([, value]) => value !== null),
    )
  ),
);

/** @internal */
export const dpeElementSchema = z.pipe(
  withoutNulls,
  z.looseObject({
    element_id: z.string(),
    category: z.string(),
    text: z.exactOptional(z.string()),
    summary: z.exactOptional(z.string()),
    content: z.exactOptional(plainObject),
    metadata: z.exactOptional(plainObject),
  }),
);

/** @internal */
export const dpePageSchema = z.pipe(
  withoutNulls,
  z.looseObject({
    page_index: z.int().check(z.minimum(0)),
    title: z.exactOptional(z.string()),
    elements: z.exactOptional(listOf(dpeElementSchema)),
    uri: z.exactOptional(z.string().check(z.minLength(1))),
  }).check(z.refine(
    ({ elements, uri }) => elements !== undefined || uri !== undefined,
    "a page needs elements, or a uri",
  )),
);

/** @internal */
export const dpeDocumentSchema = z.pipe(
  withoutNulls,
  z.looseObject({
    doc_ref: z.string(),
    uri: z.string(),
    title: z.string(),
    pages: listOf(dpePageSchema),
    file_uri: z.exactOptional(z.string()),
    file_type: z.exactOptional(z.string()),
    summary: z.exactOptional(z.string()),
    page_count: z.exactOptional(z.int().check(z.minimum(0))),
    keywords: z.exactOptional(listOf(z.string())),
    last_modified: z.exactOptional(z.string()),
  }),
);

/** Parses a {@linkcode DPEDocument}; null fields are left out. */
export const parseDPEDocument: Parser<DPEDocument> = parser(dpeDocumentSchema);
/** Parses a {@linkcode DPEPage}; null fields are left out. */
export const parseDPEPage: Parser<DPEPage> = parser(dpePageSchema);
