import * as z from "../validation/schema.ts";
import { computerCallShape, identifier } from "../validation/identifiers.ts";
import { listOf, maybe, plainObject } from "../validation/plain_values.ts";
import { type Parser, parser } from "../validation/parser.ts";
import type { AgentCallData } from "./tools.ts";

/** Requests a page of an MCP server's `resources/list` (spec §4, §8.2). */
export interface GetResourcesReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Name of the MCP server: a key of `servers` in the Computer's configuration. */
  mcp_server: string;
  /** The `next_cursor` of the previous page; absent or null for the first page. */
  cursor?: string | null;
}

/**
 * A resource exactly as the MCP server listed it; validation removes nothing (spec §8.2).
 *
 * The fields named here are those of MCP; any of them may be missing or invalid.
 */
export interface Resource {
  /** Its URI: `window://`, `dpe://`, `file://` or any other. */
  uri?: string;
  /** Its short name. */
  name?: string;
  /** Its title for people. */
  title?: string;
  /** Its description. */
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

/** A page of an MCP server's resources (spec §4, §8.2). */
export interface GetResourcesRet {
  /** The resources, unchanged. */
  resources: Resource[];
  /** The cursor of the next page; absent on the last. */
  next_cursor?: string;
  /** The `req_id` of the request. */
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
