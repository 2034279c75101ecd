import type {
  CallToolResult,
  Resource,
  ToolProgress,
} from "../../../protocol/mod.ts";
import type { AnswerQuestion } from "./calls/questions.ts";
import type { McpTool } from "./tool.ts";

/** Options of one request to an MCP server. */
export interface McpRequestOptions {
  /** Aborts the request; the MCP server receives `notifications/cancelled`. */
  signal?: AbortSignal | undefined;
}

/** Options of a request during which the MCP server may ask. */
export interface McpAskedOptions extends McpRequestOptions {
  /** Answers what the MCP server asks meanwhile; without it, questions are refused. */
  answer?: AnswerQuestion | undefined;
}

/** Options of a tool call. */
export interface McpCallOptions extends McpAskedOptions {
  /** Asks the MCP server for progress, and receives it until the call has ended; must not throw. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
}

/** The capabilities of an MCP server that the Computer uses. */
export interface McpCapabilities {
  /** Present when the server offers tools. */
  readonly tools?: unknown;
  /** Present when the server offers resources. */
  readonly resources?: { readonly subscribe?: boolean | undefined } | undefined;
  /** Present when the server offers prompts. */
  readonly prompts?: unknown;
}

/** The tools of an MCP server, and the problems of its list. */
export interface McpToolList {
  /** In the server's order. */
  readonly tools: readonly McpTool[];
  /** One sentence for each entry that was skipped or repaired. */
  readonly problems: readonly string[];
}

/** One page of `resources/list`, unvalidated. */
export interface McpResourcePage {
  /** As the server sent them. */
  readonly resources: Resource[];
  /** The cursor of the next page; absent on the last. */
  readonly nextCursor?: string;
}

/** Options of `openConnection`. */
export interface ClientConnectionOptions {
  /** Timeout of every request except tool calls. */
  readonly requestMs: number;
  /** Timeout of a ping, after which the server counts as hung; default: `requestMs`. */
  readonly pongMs?: number | undefined;
  /** Tells the server that it may ask during tool calls. */
  readonly elicits?: boolean | undefined;
  /** Whether what the server asks during a call comes in that call's answer. */
  readonly asksInAnswers?: boolean;
  /** Aborts the attempt. */
  readonly signal: AbortSignal;
  /** Describes how the connection ended, if the transport knows. */
  readonly explainLoss?: () => string | undefined;
  /** Interval of pings; over HTTP nothing else tells that the server is gone. */
  readonly pingEveryMs?: number;
  /** Resolves when each request so far has its response, or has failed. */
  readonly responded?: () => Promise<unknown>;
  /** Ends the session on the server. */
  readonly terminate?: () => Promise<void>;
}

/**
 * A connection to an MCP server over any transport.
 *
 * A lost connection stays lost; a new start opens a new one. Pending requests reject when the
 * connection is lost.
 */
export interface McpConnection {
  /** The capabilities that the server declared. */
  readonly capabilities: McpCapabilities;
  /**
   * Calls a tool; has no timeout besides the signal.
   *
   * @throws the error that the server answered, or why the connection was lost
   */
  callTool(
    name: string,
    params: Record<string, unknown>,
    options: McpCallOptions,
  ): Promise<CallToolResult>;
  /** Lists the tools of all pages; validates each entry by itself. */
  listTools(options?: McpRequestOptions): Promise<McpToolList>;
  /** Lists one page of resources. */
  listResources(
    cursor: string | undefined,
    options?: McpRequestOptions,
  ): Promise<McpResourcePage>;
  /** Reads a resource; returns the `contents` as the server sent them. */
  readResource(
    uri: string,
    options?: McpRequestOptions,
  ): Promise<Record<string, unknown>[]>;
  /** Lists the prompts of all pages, as the server sent them. */
  listPrompts(options?: McpRequestOptions): Promise<unknown[]>;
  /** Gets a prompt; returns the result as the server sent it. */
  getPrompt(
    name: string,
    params: Record<string, string>,
    options?: McpAskedOptions,
  ): Promise<Record<string, unknown>>;
  /** Subscribes to changes of a resource. */
  subscribe(uri: string, options?: McpRequestOptions): Promise<void>;
  /** Ends a subscription. */
  unsubscribe(uri: string, options?: McpRequestOptions): Promise<void>;
  /** Sets the listener of the server's notifications; it is not awaited. */
  onNotification(
    listener: (method: string, params: Record<string, unknown>) => void,
  ): void;
  /**
   * Sets the listener that is called when the connection is lost, but not for `close`.
   *
   * The reason is an `AuthorizationError` when the server now denies the Computer access.
   */
  onLost(listener: (reason: Error) => void): void;
  /** Ends the session, and the whole process group of a child process; never throws. */
  close(): Promise<void>;
}
