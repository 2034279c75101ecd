import {
  type CallToolResult,
  type Desktop,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCES_EVENT,
  type GetDPERet,
  type GetFinderRet,
  type GetPromptRet,
  type GetResourcesRet,
  type Prompt,
  READ_RESOURCE_EVENT,
  type ResourceContents,
  TOOL_CALL_EVENT,
  type ToolProgress,
} from "../../protocol/mod.ts";
import { checkNumbers } from "../../shared/checks.ts";
import type { ComputerRequestHandler } from "./request_handler.ts";

/** Options for a tool call that this process makes. */
export interface CallHostedToolOptions {
  /** The caller's name for `confirm` and events; default `"local"`. */
  agent?: string;
  /** Cancels the call, also at the MCP server; it resolves with a "cancelled" result. */
  signal?: AbortSignal;
  /**
   * Receives the tool's progress, at most ten times a second, and nothing after the result; with
   * `waiting`, that the call waits for `confirm` or `elicit`.
   */
  onProgress?: (progress: ToolProgress) => unknown;
  /** Timeout of the call with its confirmation, rounded up to whole seconds; at most 3,600,000, default 60,000. */
  timeoutMs?: number;
}

/** Options for a search for documents that this process makes. */
export interface FindDocumentsOptions {
  /** Matches documents with any of them in title, keywords or summary, case-insensitive. */
  keywords?: string[];
  /** Exact file type, such as `pdf`. */
  fileType?: string;
  /** Number of documents to skip; default 0. */
  offset?: number;
  /** Maximum number of documents to return, 1 to 100; default 20. */
  limit?: number;
}

/** The timeout of a request that has no other options. */
interface LocalTimeout {
  readonly timeoutMs?: number;
}

/** The default caller of requests of this process. */
const LOCAL_CALLER = "local";
const DEFAULT_TOOL_TIMEOUT_MS = 60_000;
const DEFAULT_READ_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 3_600_000;

/** Makes the requests of this process that an Agent would make remotely. */
export class LocalRequests {
  readonly #handler: ComputerRequestHandler;

  /** @param handler answers the requests */
  constructor(handler: ComputerRequestHandler) {
    this.#handler = handler;
  }

  /** Calls a tool. */
  async callTool(
    tool: string,
    params: Record<string, unknown>,
    options: CallHostedToolOptions,
  ): Promise<CallToolResult> {
    const { agent = LOCAL_CALLER, signal, onProgress } = options;
    const { timeoutMs = DEFAULT_TOOL_TIMEOUT_MS } = options;
    const timeout = toSeconds(timeoutMs);
    const call = {
      tool_name: tool,
      params,
      timeout,
      ...(onProgress && { progress: true as const }),
    };
    return await this.#handler.answerLocal(
      agent,
      TOOL_CALL_EVENT,
      call,
      { signal, onProgress },
    );
  }

  /** Renders the windows. */
  async getDesktop(
    { size, window }: { size?: number; window?: string },
  ): Promise<Desktop[]> {
    checkNumbers({ size });
    const request = {
      ...(size !== undefined && { desktop_size: size }),
      ...(window !== undefined && { window }),
    };
    const { desktops } = await this.#handler.answerLocal(
      LOCAL_CALLER,
      GET_DESKTOP_EVENT,
      request,
    );
    return desktops;
  }

  /** Lists one page of resources. */
  getResources(mcpServer: string, cursor?: string): Promise<GetResourcesRet> {
    return this.#handler.answerLocal(LOCAL_CALLER, GET_RESOURCES_EVENT, {
      mcp_server: mcpServer,
      ...(cursor !== undefined && { cursor }),
    });
  }

  /** Reads a resource. */
  async readResource(
    mcpServer: string,
    uri: string,
    { timeoutMs = DEFAULT_READ_TIMEOUT_MS }: LocalTimeout,
  ): Promise<ResourceContents[]> {
    const { contents } = await this.#handler.answerLocal(
      LOCAL_CALLER,
      READ_RESOURCE_EVENT,
      { mcp_server: mcpServer, uri, timeout: toSeconds(timeoutMs) },
    );
    return contents;
  }

  /** Lists the prompts. */
  async getPrompts(
    { timeoutMs = DEFAULT_READ_TIMEOUT_MS }: LocalTimeout,
  ): Promise<Prompt[]> {
    const { prompts } = await this.#handler.answerLocal(
      LOCAL_CALLER,
      GET_PROMPTS_EVENT,
      { timeout: toSeconds(timeoutMs) },
    );
    return prompts;
  }

  /** Gets a prompt. */
  async getPrompt(
    mcpServer: string,
    name: string,
    params: Record<string, string>,
    { timeoutMs = DEFAULT_READ_TIMEOUT_MS }: LocalTimeout,
  ): Promise<GetPromptRet> {
    const timeout = toSeconds(timeoutMs);
    const request = { mcp_server: mcpServer, name, arguments: params, timeout };
    return await this.#handler.answerLocal(
      LOCAL_CALLER,
      GET_PROMPT_EVENT,
      request,
    );
  }

  /** Searches the documents. */
  async getFinder(options: FindDocumentsOptions): Promise<GetFinderRet> {
    const { fileType, ...rest } = options;
    checkNumbers({ offset: rest.offset, limit: rest.limit });
    return await this.#handler.answerLocal(LOCAL_CALLER, GET_FINDER_EVENT, {
      ...rest,
      ...(fileType !== undefined && { file_type: fileType }),
    });
  }

  /** Publishes a document. */
  async getDpe(
    uri: string,
    { timeoutMs = DEFAULT_READ_TIMEOUT_MS }: { timeoutMs?: number },
  ): Promise<GetDPERet> {
    const request = { uri, timeout: toSeconds(timeoutMs) };
    return await this.#handler.answerLocal(
      LOCAL_CALLER,
      GET_DPE_EVENT,
      request,
    );
  }
}

/** Converts a duration to the whole seconds of requests. */
function toSeconds(timeoutMs: number): number {
  checkNumbers({ timeoutMs });
  if (timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS) {
    return Math.ceil(timeoutMs / 1000);
  }
  throw new TypeError(
    `timeoutMs cannot be ${timeoutMs}: expected more than 0, and at most ${MAX_TIMEOUT_MS}`,
  );
}
