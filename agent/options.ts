/**
 * The options of an Agent, and of each of its requests.
 *
 * @module
 */
import type { DocumentHandler } from "./document_source.ts";
import { CONNECTION_NAMES, type ConnectionOptions } from "../client/options.ts";
import type {
  ElicitParams,
  ElicitResult,
  ElicitUrlParams,
  ToolProgress,
} from "../protocol/mod.ts";
import type { NamesOf } from "../shared/checks.ts";

/** Options of an Agent. */
export interface SmcpAgentOptions extends ConnectionOptions {
  /**
   * What happens to calls while offline: they fail immediately (default), or wait within their timeout
   * until the Agent has reconnected and rejoined its office. Before `connect` they always fail. With
   * `wait` they also wait for a Computer that has left the office in the last minute, and in the first
   * minute after a rejoin for one that is not there; else a Computer that is not there fails with 404.
   */
  offline?: "fail" | "wait";
  /** Fetches documents of other schemes than `http`, `https` and `file`; by scheme, such as `s3` (protocol §8.3). */
  documentHandlers?: Readonly<Record<string, DocumentHandler>>;
}

/** The names of {@linkcode SmcpAgentOptions}. */
export const AGENT_NAMES = {
  ...CONNECTION_NAMES,
  offline: true,
  documentHandlers: true,
} satisfies NamesOf<SmcpAgentOptions>;

/** Options for a single request. */
export interface AgentRequestOptions {
  /** Aborts the request, which rejects with the signal's reason. */
  signal?: AbortSignal;
  /** The request's `req_id`, by which logs can name it; default random. */
  reqId?: string;
}

/** The names of {@linkcode AgentRequestOptions}. */
export const REQUEST_NAMES = {
  signal: true,
  reqId: true,
} satisfies NamesOf<AgentRequestOptions>;

/** Options for a tool call. */
export interface CallToolOptions extends AgentRequestOptions {
  /**
   * Timeout in milliseconds, at most 3,600,000; default 60,000. The Computer gets whole seconds,
   * rounded up. It stands still while the call waits for confirmation.
   */
  timeoutMs?: number;
  /**
   * How many milliseconds a person at the Computer has to confirm the call, where it needs that; default
   * 300,000. Both together are at most 3,600,000, of which `timeoutMs` comes first. With 0, `timeoutMs` runs
   * meanwhile.
   */
  confirmationTimeoutMs?: number;
  /**
   * The call's `req_id`, for `SmcpAgent.cancel`; default random. A call repeated with the same one,
   * such as after `lost`, does not run twice while the Computer stays in the office: it gets the
   * result of the first (protocol §7). Under the other name of its tool a call has this id with `~`.
   */
  reqId?: string;
  /**
   * Receives how far the tool is, as its MCP server counts it: increasing, at most ten times a
   * second, and nothing after the call has ended. A report with `waiting` means that the call waits for
   * a person at the Computer, or with `null` no more; `waitedFor` returns the same for a result.
   * Older Servers and Computers report nothing.
   */
  onProgress?: (progress: ToolProgress) => unknown;
  /**
   * Answers questions of the tool's MCP server during the call, where no person at the Computer does; the
   * call is repeated with the answer by itself, with `timeoutMs` for each part. An error cancels the
   * call. Older Computers do not ask.
   */
  onElicit?: (question: ElicitParams) => ElicitResult | Promise<ElicitResult>;
  /**
   * Asks a person to open a page that the tool's MCP server names, where no person at the Computer does. Show
   * the whole address with its host; `accept` means that they have opened it. Without this option the MCP
   * server is answered that no page is opened.
   */
  onElicitUrl?: (
    page: ElicitUrlParams,
  ) => ElicitResult | Promise<ElicitResult>;
  /**
   * In place of both: resolves with a question as a result whose `resultType` is
   * `input_required`, with `inputRequests` and `requestState`. `{}` for the first call; then the same
   * call again with the answers and that state. `accepts` has the modes of questions; default: forms alone.
   */
  input?: {
    readonly accepts?: readonly ("form" | "url")[];
    readonly responses?: Record<string, ElicitResult>;
    readonly state?: string;
  };
  /**
   * What becomes of binary content that the Computer left out of the result because of its size:
   * `restore`, the default, fetches it, at most 100 MiB for each item; `keep` leaves the item empty
   * with `a2c_blob_handle` in its `_meta`, for `SmcpAgent.openBlob`.
   */
  blobs?: "restore" | "keep";
  /**
   * Goes with the call to the tool's MCP server, as `_meta` there, such as `{ traceparent }`: at most 8,192
   * bytes as JSON, without the keys that MCP defines. Older Computers drop it.
   */
  meta?: Record<string, unknown>;
}

const INPUT_NAMES = {
  accepts: true,
  responses: true,
  state: true,
} satisfies NamesOf<NonNullable<CallToolOptions["input"]>>;

/** The names of {@linkcode CallToolOptions}. */
export const CALL_TOOL_NAMES = {
  ...REQUEST_NAMES,
  timeoutMs: true,
  confirmationTimeoutMs: true,
  onProgress: true,
  onElicit: true,
  onElicitUrl: true,
  input: INPUT_NAMES,
  blobs: true,
  meta: true,
} satisfies NamesOf<CallToolOptions>;

/** Options for sending a file to a Computer (protocol §8.7). */
export interface PutFileOptions extends AgentRequestOptions {
  /**
   * A name from which the Computer takes parts, such as the extension; default: that of the file.
   * Bytes, and a Blob that is no File, need one.
   */
  name?: string;
  /** Receives how many bytes have arrived, after each chunk. */
  onProgress?: (progress: PutFileProgress) => unknown;
}

/** The names of {@linkcode PutFileOptions}. */
export const PUT_FILE_NAMES = {
  ...REQUEST_NAMES,
  name: true,
  onProgress: true,
} satisfies NamesOf<PutFileOptions>;

/** Options for finding a tool. */
export interface FindToolOptions {
  /** Only at this Computer. */
  computer?: string;
  /** Aborts it. */
  signal?: AbortSignal;
}

/** The names of {@linkcode FindToolOptions}. */
export const FIND_TOOL_NAMES = {
  computer: true,
  signal: true,
} satisfies NamesOf<FindToolOptions>;

/** Options for reading a resource, and for listing prompts. */
export interface TimedRequestOptions extends AgentRequestOptions {
  /** Timeout in milliseconds, rounded up to seconds, at most 3,600,000; default 30,000. */
  timeoutMs?: number;
}

/** The names of {@linkcode TimedRequestOptions}. */
export const TIMED_NAMES = {
  ...REQUEST_NAMES,
  timeoutMs: true,
} satisfies NamesOf<TimedRequestOptions>;

/** Options for fetching a file from a Computer. */
export interface GetFileOptions extends TimedRequestOptions {
  /** The MCP server that has it, as for `readResource`; default: the first one that does. */
  mcpServer?: string;
}

/** The names of {@linkcode GetFileOptions}. */
export const GET_FILE_NAMES = {
  ...TIMED_NAMES,
  mcpServer: true,
} satisfies NamesOf<GetFileOptions>;

/** How far a file is. */
export interface PutFileProgress {
  /** Bytes that have arrived. */
  readonly sent: number;
  /** Bytes of the file. */
  readonly total: number;
}

/** Options for a request for the desktop (protocol §8.1). */
export interface GetDesktopOptions extends AgentRequestOptions {
  /** Maximum number of windows. */
  size?: number;
  /** Only the window with exactly this URI. */
  window?: string;
}

/** The names of {@linkcode GetDesktopOptions}. */
export const DESKTOP_NAMES = {
  ...REQUEST_NAMES,
  size: true,
  window: true,
} satisfies NamesOf<GetDesktopOptions>;

/** Options for a request for a page of resources (protocol §8.2). */
export interface GetResourcesOptions extends AgentRequestOptions {
  /** `next_cursor` of the previous page. */
  cursor?: string;
}

/** The names of {@linkcode GetResourcesOptions}. */
export const RESOURCES_NAMES = {
  ...REQUEST_NAMES,
  cursor: true,
} satisfies NamesOf<GetResourcesOptions>;

/** Options for a request for a document's address (protocol §8.3). */
export interface GetDpeOptions extends AgentRequestOptions {
  /** Timeout in milliseconds, rounded up to seconds, at most 3,600,000; default 30,000. */
  timeoutMs?: number;
}

/** The names of {@linkcode GetDpeOptions}. */
export const GET_DPE_NAMES = {
  ...REQUEST_NAMES,
  timeoutMs: true,
} satisfies NamesOf<GetDpeOptions>;

/** Options for watching a resource. */
export interface WatchResourceOptions extends AgentRequestOptions {
  /** Ends it. */
  stop?: boolean;
}

/** The names of {@linkcode WatchResourceOptions}. */
export const WATCH_NAMES = {
  ...REQUEST_NAMES,
  stop: true,
} satisfies NamesOf<WatchResourceOptions>;

/** Options for a prompt. */
export interface GetPromptOptions extends TimedRequestOptions {
  /** What the prompt is filled in with. */
  arguments?: Record<string, string>;
  /** As for a tool call: resolves with the questions of the MCP server, where no person at the Computer answers. */
  input?: NonNullable<CallToolOptions["input"]>;
}

/** The names of {@linkcode GetPromptOptions}. */
export const PROMPT_NAMES = {
  ...TIMED_NAMES,
  arguments: true,
  input: INPUT_NAMES,
} satisfies NamesOf<GetPromptOptions>;

/** Options for opening a document (protocol §8.3). */
export interface OpenDocumentOptions extends AgentRequestOptions {
  /** Timeout in milliseconds of the Computer, and of each fetch, at most 3,600,000; default 30,000. */
  timeoutMs?: number;
}

/** The names of {@linkcode OpenDocumentOptions}. */
export const OPEN_DOCUMENT_NAMES = {
  ...REQUEST_NAMES,
  timeoutMs: true,
} satisfies NamesOf<OpenDocumentOptions>;

/** Options for a request for a file of a skill (protocol §8.6). */
export interface GetSkillOptions extends AgentRequestOptions {
  /** Path of the file in the skill's folder; default `SKILL.md`. */
  path?: string;
}

/** The names of {@linkcode GetSkillOptions}. */
export const GET_SKILL_NAMES = {
  ...REQUEST_NAMES,
  path: true,
} satisfies NamesOf<GetSkillOptions>;

/** Options for a search for documents (protocol §8.4). */
export interface GetFinderOptions extends AgentRequestOptions {
  /** Matches documents with any of them in title, keywords or summary, case-insensitive. */
  keywords?: string[];
  /** Exact file type, such as `pdf`. */
  fileType?: string;
  /** Number of documents to skip; default 0. */
  offset?: number;
  /** Maximum number of documents to return, 1 to 100; default 20. */
  limit?: number;
}

/** The names of {@linkcode GetFinderOptions}. */
export const FINDER_NAMES = {
  ...REQUEST_NAMES,
  keywords: true,
  fileType: true,
  offset: true,
  limit: true,
} satisfies NamesOf<GetFinderOptions>;
