import type { ResourceContents } from "../../../protocol/mod.ts";

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
