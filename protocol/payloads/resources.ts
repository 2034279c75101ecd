/**
 * Resources of MCP servers: listing, reading and watching them (protocol §8.2).
 *
 * @module
 */
import type { AgentCallData } from "./tools.ts";
import * as z from "../validation.ts";

/** Fields that MCP and the protocol spell differently: MCP's name → the protocol's. */
type Twins = readonly [mcp: string, wire: string];

const MIME_TYPE: Twins = ["mimeType", "mime_type"];
const LAST_MODIFIED: Twins = ["lastModified", "last_modified"];

/**
 * Adds the protocol's spelling of fields to that of MCP. SDKs differ in which one they read, and some
 * Servers drop the one that they do not know (protocol §4).
 */
export const inBothSpellings = (resource: Resource): Resource =>
  spelled(resource, add);

/** Returns a resource in the spelling of MCP, whichever its Computer used (protocol §8.2). */
export const inMcpSpelling = (resource: Resource): Resource =>
  spelled(resource, merge);

function spelled(
  resource: Resource,
  spell: <T extends Record<string, unknown>>(fields: T, twins: Twins) => T,
): Resource {
  const own = spell(resource, MIME_TYPE);
  const { annotations } = own;
  if (typeof annotations !== "object" || annotations === null) return own;
  const spelt = spell(annotations, LAST_MODIFIED);
  return spelt === annotations ? own : { ...own, annotations: spelt };
}

function add<T extends Record<string, unknown>>(
  fields: T,
  [mcp, wire]: Twins,
): T {
  const value = fields[mcp];
  return typeof value !== "string" || wire in fields
    ? fields
    : { ...fields, [wire]: value };
}

function merge<T extends Record<string, unknown>>(
  fields: T,
  [mcp, wire]: Twins,
): T {
  const { [wire]: value, ...rest } = fields;
  // Another value is a field of the MCP server's own.
  const isTwin = fields[mcp] === undefined || fields[mcp] === value;
  return typeof value !== "string" || !isTwin
    ? fields
    : { ...rest, [mcp]: value } as unknown as T;
}

/** Requests a page of an MCP server's `resources/list` (protocol §4, §8.2). */
export interface GetResourcesReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Name of the MCP server: a key of `servers` in the Computer's configuration. */
  mcp_server: string;
  /** The `next_cursor` of the previous page; absent or null for the first page. */
  cursor?: string | null;
}

/**
 * A resource exactly as the MCP server listed it; validation removes nothing (protocol §8.2). On the wire
 * `mime_type` and `annotations.last_modified` stand beside the spelling of MCP (protocol §8.2).
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

/** A page of an MCP server's resources (protocol §4, §8.2). */
export interface GetResourcesRet {
  /** The resources, unchanged. */
  resources: Resource[];
  /** The cursor of the next page; absent on the last. */
  next_cursor?: string;
  /** The `req_id` of the request. */
  req_id: string;
}

/** Requests the contents of a resource of an MCP server: `resources/read` of MCP; an extension of this package. */
export interface ReadResourceReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Name of the MCP server: a key of `servers` in the Computer's configuration. */
  mcp_server: string;
  /** The resource's URI, listed or made from a template; checked by the MCP server alone. */
  uri: string;
  /** Seconds for reading; 30 when absent. */
  timeout?: number;
}

/**
 * One item of a resource's contents, exactly as the MCP server sent it: text, or bytes as base64.
 *
 * The fields named here are those of MCP; any of them may be missing or invalid.
 */
export interface ResourceContents {
  /** URI of the resource, or of a part of it. */
  readonly uri?: string;
  /** Its media type. */
  readonly mimeType?: string;
  /** The text. */
  readonly text?: string;
  /** The bytes, as base64. */
  readonly blob?: string;
  /** Extensions. */
  readonly _meta?: Record<string, unknown>;
  /** Everything else that the server sent. */
  readonly [field: string]: unknown;
}

/** The contents of a resource; an extension of this package. */
export interface ReadResourceRet {
  /** The contents, unchanged. */
  contents: ResourceContents[];
  /** The metadata of the MCP server's answer. */
  _meta?: Record<string, unknown>;
  /** The `req_id` of the request. */
  req_id: string;
}

/** Requests the templates of a Computer's running MCP servers: `resources/templates/list` of MCP; an extension of this package. */
export interface GetResourceTemplatesReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Seconds for listing; 30 when absent. */
  timeout?: number;
}

/**
 * A template of URIs of resources as its MCP server listed it, with the name of that server.
 *
 * The fields named here are those of MCP; all but the template and the server may be missing or invalid.
 */
export interface ResourceTemplate {
  /** The template (RFC 6570): what it makes can be read. */
  uriTemplate: string;
  /** Name of the MCP server: a key of `servers` in the Computer's configuration. */
  mcp_server: string;
  /** Its short name. */
  name?: string;
  /** Its title for people. */
  title?: string;
  /** Its description. */
  description?: string;
  /** The media type of all that it leads to. */
  mimeType?: string;
  /** Everything else that the server sent. */
  [field: string]: unknown;
}

/** The templates of a Computer; an extension of this package. */
export interface GetResourceTemplatesRet {
  /** All of them, server by server in the order of the configuration; those of a server that fails are missing. */
  resource_templates: ResourceTemplate[];
  /** The `req_id` of the request. */
  req_id: string;
}

/** Subscribes to changes of a resource of a Computer, or ends that; an extension of this package. */
export interface WatchResourceReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Name of the MCP server: a key of `servers` in the Computer's configuration. */
  mcp_server: string;
  /** The resource's URI, as for reading. */
  uri: string;
  /** Whether to notify of changes from now on. */
  watch: boolean;
}

/** Confirms a {@linkcode WatchResourceReq}. */
export interface WatchResourceRet {
  /** The `req_id` of the request. */
  req_id: string;
}

/**
 * Notifies that a watched resource has new contents, or without `uri` that the Computer lists other
 * resources or prompts; an extension of this package.
 */
export interface UpdateResources {
  /** Name of the Computer. */
  computer: string;
  /** The MCP server of the resource. */
  mcp_server?: string;
  /** The URI of the resource, as it was asked for. */
  uri?: string;
  /** Without `uri`: which list has changed; where it is anything else, both may have. */
  list?: "resources" | "prompts";
}

/** The parsers of `client:get_resources`; a null `next_cursor` is left out. */
export const getResources = z.routed(
  z.computerCall({ mcp_server: z.identifier, cursor: z.maybe(z.string()) }),
  z.pipe(
    z.answer({
      resources: z.listOf(z.plainObject),
      next_cursor: z.maybe(z.string()),
    }),
    z.transform(({ next_cursor, ...rest }) => ({
      ...rest,
      ...(typeof next_cursor === "string" && { next_cursor }),
    })),
  ),
);

/** The parsers of `client:read_resource`. */
export const readResource = z.routed(
  z.computerCall({
    mcp_server: z.identifier,
    uri: z.string(),
    timeout: z.exactOptional(z.timeoutSeconds),
  }),
  z.answer({
    contents: z.listOf(z.plainObject),
    _meta: z.exactOptional(z.plainObject),
  }),
);

/** The parsers of `client:get_resource_templates`; of a template only itself and the name of the server are checked. */
export const getResourceTemplates = z.routed(
  z.computerCall({ timeout: z.exactOptional(z.timeoutSeconds) }),
  z.answer({
    resource_templates: z.listOf(z.pipe(
      z.looseObject({ uriTemplate: z.string(), mcp_server: z.string() }),
      z.transform((template) => template as ResourceTemplate),
    )),
  }),
);

/** The parsers of `client:watch_resource`. */
export const watchResource = z.routed(
  z.computerCall({
    mcp_server: z.identifier,
    uri: z.string(),
    watch: z.boolean(),
  }),
  z.answer({}),
);

/** Parses an {@linkcode UpdateResources}. */
export const parseUpdateResources = z.parser(z.looseObject({
  computer: z.memberName,
  mcp_server: z.exactOptional(z.identifier),
  uri: z.exactOptional(z.string()),
  list: z.exactOptional(z.custom<"resources" | "prompts">()),
}));
