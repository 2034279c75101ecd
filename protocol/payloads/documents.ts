import * as z from "../validation/schema.ts";
import { listOf, plainObject } from "../validation/plain_values.ts";
import { type Parser, parser } from "../validation/parser.ts";

/** A document as an Agent fetches it from where `get_dpe` sent it (spec §8.3). */
export interface DPEDocument {
  /** The document's key, given by its MCP server. */
  doc_ref: string;
  /** Its `dpe://` URI. */
  uri: string;
  /** For people. */
  title: string;
  /** All of them, in reading order; each with its elements, or with where they are. */
  pages: DPEPage[];
  /** The original file. */
  file_uri?: string;
  /** `xlsx`, `pdf`, `pptx`, … */
  file_type?: string;
  /** What it says. */
  summary?: string;
  /** Pages of the original; absent or 0 is unknown. */
  page_count?: number;
  /** What it is about. */
  keywords?: string[];
  /** ISO 8601. */
  last_modified?: string;
}

/** One page; it has `elements`, or in a manifest the `uri` of its own JSON (spec §8.3). */
export interface DPEPage {
  /** From 0. */
  page_index: number;
  /** For people. */
  title?: string;
  /** What is on it, in reading order. */
  elements?: DPEElement[];
  /** Where the page with its elements is; relative to where the document is, or absolute. */
  uri?: string;
}

/** One element of a page; its category may bring fields of its own (spec §8.3). */
export interface DPEElement {
  /** Unique in its document. */
  element_id: string;
  /** What it is; an unknown category is plain text. */
  category: string;
  /** What it says. */
  text?: string;
  /** What it says, in short. */
  summary?: string;
  /** Depends on the category. */
  content?: Record<string, unknown>;
  /** Anything more. */
  metadata?: Record<string, unknown>;
  /** What the category brings. */
  [field: string]: unknown;
}

/** Some writers say null for what is not there. */
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
