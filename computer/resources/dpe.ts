/**
 * Documents by their `dpe://` URI (protocol §8.3): the MCP server of the host is found, the document is
 * read, and the user's resolver publishes it.
 *
 * @module
 */
import type { McpHost } from "../host/host.ts";
import { requestFailure } from "../tools/call_failure.ts";
import { reasonOf } from "../util/values.ts";
import { fieldsOf } from "./listed.ts";
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

/** Default limit for reading and resolving (protocol §8.3). */
const DEFAULT_TIMEOUT_S = 30;

/** The parts of a tool host with which documents are found. */
export interface DpeParts {
  /** The MCP servers. */
  readonly hosting: { readonly host: Pick<McpHost, "server"> };
  /** Finds the MCP server of a host. */
  readonly watch: Pick<ResourceWatch, "route" | "originalOf">;
  /** The resolver that the user registered. */
  readonly resolver: DpeResolver | undefined;
}

/**
 * Turns a `dpe://` URI into one that the Agent can fetch (protocol §8.3).
 *
 * @throws {ProtocolError} 4012 not a DPE URI, 4011 no resolver, 4013 any later failure,
 * with `uri` and `reason`
 */
export async function getDpe(
  { uri, timeout = DEFAULT_TIMEOUT_S, req_id }: GetDPEReq,
  parts: DpeParts,
): Promise<GetDPERet> {
  const { host } = parseDpeUri(uri);
  const { resolver } = parts;
  if (!resolver) {
    throw new ProtocolError(
      ErrorCode.DPE_RESOLVER_NOT_CONFIGURED,
      "Cannot resolve a DPE URI: this Computer has no DPE resolver",
      { fields: { uri } },
    );
  }
  try {
    const answer = await withTimeout(timeout * 1000, async (signal) => {
      const { name, contents } = await read(host, uri, parts, signal);
      signal.throwIfAborted();
      const mime = contents[0]?.mimeType;
      return readResolution(
        await resolver.resolve(uri, contents, {
          mcp_server_name: name,
          ...(mime !== undefined && { mime_type: mime }),
          signal,
        }),
      );
    });
    return { ...answer, req_id };
  } catch (error) {
    const reason = reasonOf(error);
    throw new ProtocolError(
      ErrorCode.DPE_RESOLUTION_FAILED,
      `Cannot resolve the DPE URI: ${reason}`,
      { fields: { uri, reason }, cause: error },
    );
  }
}

/** Reads a document from the MCP server of its host; returns the server's name, too. */
async function read(
  uriHost: string,
  uri: string,
  { hosting, watch }: DpeParts,
  signal: AbortSignal,
): Promise<{ name: string; contents: ResourceContents[] }> {
  const bundleId = await watch.route(uriHost);
  if (bundleId === undefined) {
    throw new Error(`no MCP server lists the host "${uriHost}"`);
  }
  const server = hosting.host.server(bundleId);
  const name = server?.config.name ?? bundleId;
  if (!server?.connection) {
    throw new Error(
      `MCP server "${name}" is ${server?.status.state ?? "gone"}`,
    );
  }
  try {
    const original = watch.originalOf(bundleId, uri);
    const contents = await server.connection.readResource(original, { signal });
    return { name, contents: contents.map(readContents) };
  } catch (error) {
    throw new Error(requestFailure(name, error).message, { cause: error });
  }
}

/** Validates the resolver's answer: it is the user's code. */
function readResolution(answer: unknown): Omit<GetDPERet, "req_id"> {
  const { uri, mime_type, size } = fieldsOf(answer);
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

/** Further arguments of a {@linkcode DpeResolver}. */
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

/** Publishes documents where Agents can fetch them (protocol §8.3). */
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
