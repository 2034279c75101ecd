import type { CallToolResult, Resource } from "../../../protocol/mod.ts";
import type { McpTool } from "./tool.ts";

/** What bounds one request to an MCP server. */
export interface McpRequestOptions {
  /** Gives the request up; the MCP server is told with `notifications/cancelled`. */
  signal?: AbortSignal | undefined;
}

/** The parts of an MCP server's capabilities that the Computer asks about. */
export interface McpCapabilities {
  /** Present when it has tools. */
  readonly tools?: unknown;
  /** Present when it has resources. */
  readonly resources?: { readonly subscribe?: boolean | undefined } | undefined;
}

/** The tools of an MCP server, and what could not be read in its list. */
export interface McpToolList {
  /** In the server's order. */
  readonly tools: readonly McpTool[];
  /** One sentence for each entry that was left out or mended. */
  readonly problems: readonly string[];
}

/** One page of `resources/list`, nothing in it checked. */
export interface McpResourcePage {
  /** As the server sent them. */
  readonly resources: Resource[];
  /** Where the next page starts; absent on the last. */
  readonly nextCursor?: string;
}

/**
 * An MCP server that answers, whatever it is reached over.
 *
 * Once lost it stays lost; a new start makes a new connection. Every request that is pending at
 * that moment rejects at once.
 */
export interface McpConnection {
  /** What the server said about itself. */
  readonly capabilities: McpCapabilities;
  /**
   * Runs a tool; bounded by the signal alone.
   *
   * @throws what the server answered instead of a result, or why the connection was lost
   */
  callTool(
    name: string,
    params: Record<string, unknown>,
    options: McpRequestOptions,
  ): Promise<CallToolResult>;
  /** Lists all tools, page by page, each entry read for itself. */
  listTools(options?: McpRequestOptions): Promise<McpToolList>;
  /** Lists one page of resources. */
  listResources(
    cursor: string | undefined,
    options?: McpRequestOptions,
  ): Promise<McpResourcePage>;
  /** Reads a resource; the `contents` as the server sent them. */
  readResource(
    uri: string,
    options?: McpRequestOptions,
  ): Promise<Record<string, unknown>[]>;
  /** Asks to be told when a resource changes. */
  subscribe(uri: string, options?: McpRequestOptions): Promise<void>;
  /** Sets who hears the server's notifications; never waited for. */
  onNotification(
    listener: (method: string, params: Record<string, unknown>) => void,
  ): void;
  /**
   * Sets who hears that the connection was lost, and why; not called for `close`.
   *
   * The reason is an `AuthorizationError` when the server does not let the Computer in any more.
   */
  onLost(listener: (reason: Error) => void): void;
  /** Ends the session, and for a child process its whole process group; never throws. */
  close(): Promise<void>;
}
