import * as z from "../validation/schema.ts";
import { computerCallShape } from "../validation/identifiers.ts";
import { listOf } from "../validation/plain_values.ts";
import { type Parser, parser } from "../validation/parser.ts";
import type { AgentCallData } from "./tools.ts";

/** Requests a Computer's catalog of documents (spec §4, §8.4). */
export interface GetFinderReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Matches documents with any of these in title, keywords or summary, case-insensitive. */
  keywords?: string[];
  /** Matches documents of exactly this file type, such as `pdf`. */
  file_type?: string;
  /** Number of documents to skip; default 0. */
  offset?: number;
  /** Maximum number of documents to return, 1 to 100; default 20. */
  limit?: number;
}

/** A document of the catalog (spec §4, §8.4). */
export interface DPEDocumentSummary {
  /** The document's key, given by its MCP server. */
  doc_ref: string;
  /** Its `dpe://` URI. */
  uri: string;
  /** The original file. */
  file_uri: string;
  /** `xlsx`, `pdf`, `pptx`, … */
  file_type: string;
  /** For people. */
  title: string;
  /** Number of pages; 0 means unknown. */
  page_count: number;
  /** Its keywords. */
  keywords?: string[];
  /** A summary. */
  summary?: string;
  /** The MCP server that lists it. */
  server: string;
  /** ISO 8601. */
  last_modified?: string;
}

/** One page of a document, for an index (spec §4). */
export interface DPEPageSummary {
  /** From 0. */
  page_index: number;
  /** For people. */
  title: string;
  /** Number of its elements. */
  element_count: number;
  /** Its `dpe://` URI. */
  uri: string;
  /** The document it belongs to. */
  doc_ref?: string;
}

/** One element of a page (spec §4). */
export interface DPEElementDetail {
  /** Unique in its document. */
  element_id: string;
  /** The kind of element; treat an unknown one as plain text. */
  category: string;
  /** A short summary. */
  summary?: string;
  /** Depends on the category. */
  content: Record<string, unknown>;
  /** The document it belongs to. */
  doc_ref?: string;
  /** The page it is on, from 0. */
  page_index?: number;
  /** Its `dpe://` URI. */
  uri?: string;
  /** Additional data. */
  metadata?: Record<string, unknown>;
}

/** A page of the catalog (spec §4, §8.4). */
export interface GetFinderRet {
  /** From `offset`, at most `limit`. */
  documents: DPEDocumentSummary[];
  /** Number of matching documents, before paging. */
  total_count: number;
  /** The `req_id` of the request. */
  req_id: string;
}

/** @internal */
export const getFinderReqSchema = z.looseObject({
  ...computerCallShape,
  keywords: z.exactOptional(listOf(z.string())),
  file_type: z.exactOptional(z.string()),
  offset: z.exactOptional(z.int().check(z.minimum(0))),
  limit: z.exactOptional(z.int().check(z.minimum(1), z.maximum(100))),
});

/** @internal */
export const documentSummarySchema = z.looseObject({
  doc_ref: z.string(),
  uri: z.string(),
  file_uri: z.string(),
  file_type: z.string(),
  title: z.string(),
  page_count: z.int().check(z.minimum(0)),
  keywords: z.exactOptional(listOf(z.string())),
  summary: z.exactOptional(z.string()),
  server: z.string(),
  last_modified: z.exactOptional(z.string()),
});

/** @internal */
export const getFinderRetSchema = z.looseObject({
  documents: listOf(documentSummarySchema),
  total_count: z.int().check(z.minimum(0)),
  req_id: z.string(),
});

/** Parses a {@linkcode GetFinderReq}. */
export const parseGetFinderReq: Parser<GetFinderReq> = parser(
  getFinderReqSchema,
);
/** Parses a {@linkcode GetFinderRet}. */
export const parseGetFinderRet: Parser<GetFinderRet> = parser(
  getFinderRetSchema,
);
