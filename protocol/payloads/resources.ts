import * as z from "../validation/schema.ts";
import { computerCallShape, identifier } from "../validation/identifiers.ts";
import { listOf, maybe, plainObject } from "../validation/plain_values.ts";
import { type Parser, parser } from "../validation/parser.ts";
import type { AgentCallData } from "./tools.ts";

/** Asks for one page of an MCP server's `resources/list` (spec §4, §8.2). */
export interface GetResourcesReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Name of the MCP server: a key of `servers` in the Computer's configuration. */
  mcp_server: string;
  /** `next_cursor` of the page before; absent or null for the first page. */
  cursor?: string | null;
}

/**
 * A resource just as the MCP server listed it: nothing in it is validated away (spec §8.2).
 *
 * The fields named here are what MCP promises; any of them may be missing or odd.
 */
export interface Resource {
  /** What it is: `window://`, `dpe://`, `file://`, anything. */
  uri?: string;
  /** Its short name. */
  name?: string;
  /** Its title for people. */
  title?: string;
  /** What it holds. */
  description?: string;
  /** Its media type. */
  mimeType?: string;
  /** `priority`, `audience`, `lastModified` and others. */
  annotations?: Record<string, unknown>;
  /** Extensions, such as `fullscreen` of a window. */
  _meta?: Record<string, unknown>;
  /** Everything else that the server sent. */
  [field: string]: unknown;
}

/** One page of an MCP server's resources (spec §4, §8.2). */
export interface GetResourcesRet {
  /** The page, untouched. */
  resources: Resource[];
  /** Where the next page starts; absent on the last. */
  next_cursor?: string;
  /** The request's own. */
  req_id: string;
}

/** @internal */
export const getResourcesReqSchema = z.looseObject({
  ...computerCallShape,
  mcp_server: identifier,
  cursor: maybe(z.string()),
});

/** @internal */
export const getResourcesRetSchema = z.pipe(
  z.looseObject({
    resources: listOf(plainObject),
    next_cursor: maybe(z.string()),
    req_id: z.string(),
  }),
  z.transform(({ next_cursor, ...rest }) => ({
    ...rest,
    ...(typeof next_cursor === "string" && { next_cursor }),
  })),
);

/** Parses a {@linkcode GetResourcesReq}. */
export const parseGetResourcesReq: Parser<GetResourcesReq> = parser(
  getResourcesReqSchema,
);
/** Parses a {@linkcode GetResourcesRet}; a null `next_cursor` is left out. */
export const parseGetResourcesRet: Parser<GetResourcesRet> = parser(
  getResourcesRetSchema,
);
