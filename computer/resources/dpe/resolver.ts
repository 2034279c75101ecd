import type { ResourceContents } from "../contents.ts";

/** What a {@linkcode DpeResolver} knows beside the contents. */
export interface DpeResolverContext {
  /** The MCP server that the contents come from. */
  readonly mcp_server_name: string;
  /** The media type of the first contents, where the MCP server gave one. */
  readonly mime_type?: string;
  /** Aborted when the time of the request is over. */
  readonly signal: AbortSignal;
}

/** Where an Agent finds a document. */
export interface DpeResolution {
  /** An absolute URI of any scheme but `dpe:`. */
  readonly uri: string;
  /** The media type of what is there. */
  readonly mime_type?: string | undefined;
  /** Bytes. */
  readonly size?: number | undefined;
}

/** Puts a document where Agents can fetch it (spec §8.3). */
export interface DpeResolver {
  /**
   * Publishes the contents of a document.
   *
   * What it throws, and what takes longer than the request's `timeout`, is answered with 4013;
   * the error's message is sent to the Agent, so it must hold no secret.
   *
   * @param dpeUri `dpe://HOST/DOC-REF`, as requested
   * @param contents as the MCP server gave them; the document first, parts of it after
   */
  resolve(
    dpeUri: string,
    contents: readonly ResourceContents[],
    context: DpeResolverContext,
  ): DpeResolution | Promise<DpeResolution>;
}
