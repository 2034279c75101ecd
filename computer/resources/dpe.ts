/**
 * Documents by their `dpe://` URI (spec §8.3): the MCP server of the host is found, the document is
 * read, and the user's resolver publishes it.
 *
 * @module
 */
import type { McpHost } from "../host/host.ts";
import { requestFailure } from "../tools/call_failure.ts";
import { isRecord, reasonOf } from "../util/values.ts";
import type { ResourceWatch } from "./resource_watch.ts";
import { readContents } from "./servers.ts";
import {
  ErrorCode,
  type GetDPEReq,
  type GetDPERet,
  parseDpeUri,
  ProtocolError,
  type ResourceContents,
} from "../../protocol/mod.ts";
import { withTimeout } from "../../shared/async.ts";

/** Turns a `dpe://` URI into one that the Agent can fetch (spec §8.3). */
export const getDpe = (
  request: GetDPEReq,
  { hosting: { host }, watch, resolver }: {
    readonly hosting: { readonly host: McpHost };
    readonly watch: ResourceWatch;
    readonly resolver: DpeResolver | undefined;
  },
): Promise<GetDPERet> =>
  resolveDpe(request, {
    resolver,
    route: (uriHost) => watch.route(uriHost),
    nameOf: (server) => host.server(server)?.config.name ?? server,
    read: (server, uri, signal) =>
      read(host, server, watch.originalOf(server, uri), signal),
  });

async function read(
  host: McpHost,
  bundleId: string,
  uri: string,
  signal: AbortSignal,
): Promise<ResourceContents[]> {
  const server = host.server(bundleId);
  const name = server?.config.name ?? bundleId;
  if (!server?.connection) {
    throw new Error(
      `MCP server "${name}" is ${server?.status.state ?? "gone"}`,
    );
  }
  try {
    const contents = await server.connection.readResource(uri, { signal });
    return contents.map(readContents);
  } catch (error) {
    throw new Error(requestFailure(name, error).message, { cause: error });
  }
}

/** Default limit for reading and resolving (spec §8.3). */
const DEFAULT_TIMEOUT_S = 30;

/** What {@linkcode resolveDpe} needs. */
export interface DpeSources {
  /** The resolver that the user registered. */
  readonly resolver: DpeResolver | undefined;
  /** Finds the MCP server of a host, by what identifies it; undefined if no server lists it. */
  route(host: string): Promise<string | undefined>;
  /** Returns its name; default: what identifies it. */
  nameOf?(server: string): string;
  /**
   * Reads a resource.
   *
   * @throws {Error} with the reason as its message
   */
  read(
    server: string,
    uri: string,
    signal: AbortSignal,
  ): Promise<readonly ResourceContents[]>;
}

/**
 * Answers `client:get_dpe` (spec §8.3).
 *
 * @throws {ProtocolError} 4012 not a DPE URI, 4011 no resolver, 4013 any later failure,
 * with `uri` and `reason`
 */
export async function resolveDpe(
  { uri, timeout = DEFAULT_TIMEOUT_S, req_id }: GetDPEReq,
  sources: DpeSources,
): Promise<GetDPERet> {
  const { host } = parseDpeUri(uri);
  const { resolver } = sources;
  if (!resolver) throw notConfigured(uri);
  try {
    const answer = await withTimeout(
      timeout * 1000,
      (signal) => publish({ uri, host }, resolver, sources, signal),
    );
    return { ...answer, req_id };
  } catch (error) {
    throw failed(uri, reasonOf(error), error);
  }
}

async function publish(
  { uri, host }: { readonly uri: string; readonly host: string },
  resolver: DpeResolver,
  sources: DpeSources,
  signal: AbortSignal,
): Promise<Omit<GetDPERet, "req_id">> {
  const server = await sources.route(host);
  if (server === undefined) {
    throw new Error(`no MCP server lists the host "${host}"`);
  }
  const contents = await sources.read(server, uri, signal);
  signal.throwIfAborted();
  const mime = contents[0]?.mimeType;
  return readResolution(
    await resolver.resolve(uri, contents, {
      mcp_server_name: sources.nameOf?.(server) ?? server,
      ...(mime !== undefined && { mime_type: mime }),
      signal,
    }),
  );
}

/** Validates the resolver's answer: it is the user's code. */
function readResolution(answer: unknown): Omit<GetDPERet, "req_id"> {
  const { uri, mime_type, size }: Record<string, unknown> = isRecord(answer)
    ? answer
    : {};
  if (typeof uri !== "string" || uri === "") {
    throw new Error("the resolver gave no URI");
  }
  if (!URL.canParse(uri) || uri.toLowerCase().startsWith("dpe:")) {
    throw new Error("the resolver gave no URI that an Agent could fetch");
  }
  return {
    uri,
    ...(typeof mime_type === "string" && { mime_type }),
    ...(Number.isSafeInteger(size) && Number(size) >= 0 &&
      { size: Number(size) }),
  };
}

const notConfigured = (uri: string): ProtocolError =>
  new ProtocolError(
    ErrorCode.DPE_RESOLVER_NOT_CONFIGURED,
    "Cannot resolve a DPE URI: this Computer has no DPE resolver; register one",
    { fields: { uri } },
  );

const failed = (uri: string, reason: string, cause: unknown): ProtocolError =>
  new ProtocolError(
    ErrorCode.DPE_RESOLUTION_FAILED,
    `Cannot resolve the DPE URI: ${reason}`,
    { fields: { uri, reason }, cause },
  );

/** What a {@linkcode DpeResolver} gets besides the contents. */
export interface DpeResolverContext {
  /** The name of the MCP server that provided the contents. */
  readonly mcp_server_name: string;
  /** The media type of the first contents, if the MCP server gave one. */
  readonly mime_type?: string;
  /** Aborted when the request times out. */
  readonly signal: AbortSignal;
}

/** Where an Agent finds a document. */
export interface DpeResolution {
  /** An absolute URI with any scheme except `dpe:`. */
  readonly uri: string;
  /** The media type of the document. */
  readonly mime_type?: string | undefined;
  /** Size in bytes. */
  readonly size?: number | undefined;
}

/** Publishes documents where Agents can fetch them (spec §8.3). */
export interface DpeResolver {
  /**
   * Publishes the contents of a document.
   *
   * An error, or exceeding the request's `timeout`, is answered with 4013. The error's message is
   * sent to the Agent, so it must not contain secrets.
   *
   * @param dpeUri `dpe://HOST/DOC-REF`, as requested
   * @param contents as the MCP server returned them: the document first, then its parts
   */
  resolve(
    dpeUri: string,
    contents: readonly ResourceContents[],
    context: DpeResolverContext,
  ): DpeResolution | Promise<DpeResolution>;
}
