import * as z from "../validation/schema.ts";
import { computerCallShape } from "../validation/identifiers.ts";
import { listOf } from "../validation/plain_values.ts";
import { type Parser, parser } from "../validation/parser.ts";
import type { AgentCallData } from "./tools.ts";

/** Asks a Computer for its catalogue of documents (spec §4, §8.4). */
export interface GetFinderReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Any of them in title, keywords or summary, case-insensitive. */
  keywords?: string[];
  /** Exact file type, such as `pdf`. */
  file_type?: string;
  /** How many documents to skip; default 0. */
  offset?: number;
  /** How many documents to return, 1 to 100; default 20. */
  limit?: number;
}

/** One document of the catalogue (spec §4, §8.4). */
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
  /** Pages; 0 is unknown. */
  page_count: number;
  /** What it is about. */
  keywords?: string[];
  /** What it says. */
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
  /** How many elements it has. */
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
  /** What it is; an unknown category is plain text. */
  category: string;
  /** What it says, in short. */
  summary?: string;
  /** Depends on the category. */
  content: Record<string, unknown>;
  /** The document it belongs to. */
  doc_ref?: string;
  /** The page it is on, from 0. */
  page_index?: number;
  /** Its `dpe://` URI. */
  uri?: string;
  /** Anything more. */
  metadata?: Record<string, unknown>;
}

/** A page of the catalogue (spec §4, §8.4). */
export interface GetFinderRet {
  /** From `offset`, at most `limit`. */
  documents: DPEDocumentSummary[];
  /** How many match, before paging. */
  total_count: number;
  /** The request's own. */
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
