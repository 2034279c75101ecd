/**
 * What the Computer uses of an MCP server: the interface of a connection, the reading of its tools,
 * and the collecting of lists over pages. Loads nothing of the MCP SDK.
 *
 * @module
 */
import { isDeeper, MAX_DEPTH } from "../../../client/message_limits.ts";
import type { AnswerQuestion } from "./questions.ts";
import { hideSecrets } from "../../util/secrets.ts";
import { isRecord } from "../../util/values.ts";
import type {
  CallToolResult,
  Icon,
  Resource,
  ToolProgress,
} from "../../../protocol/mod.ts";

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

/** The parts of a listed tool that the Computer uses. */
export interface McpTool {
  /** The server's name of the tool. */
  readonly name: string;
  /** The description; empty when there is none. */
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly inputSchema: Record<string, unknown>;
  /** JSON Schema of its structured result, if it has one. */
  readonly outputSchema: Record<string, unknown> | null;
  /** The annotations of MCP, such as `readOnlyHint`. */
  readonly annotations: Record<string, unknown> | undefined;
  /** Its name for people, if it has one. */
  readonly title?: string;
  /** Its pictures; those that cannot be used or are too large are left out. */
  readonly icons?: readonly Icon[];
  /** The server's metadata. */
  readonly meta: Record<string, unknown>;
}

/** The result of reading a tool: the tool, possibly repaired, or a problem. */
interface ToolReading {
  /** Absent when the entry has no usable name. */
  readonly tool?: McpTool;
  /** What is wrong with the entry. */
  readonly problem?: string;
}

/** Maximum length of identifiers on the wire (spec §4). */
const MAX_NAME_LENGTH = 256;
/** Maximum depth of a tool, which is two levels deep in the answer to Agents. */
const MAX_TOOL_DEPTH = MAX_DEPTH - 2;

/** The most icons of a tool, and characters of each: all tools travel in one message. */
const MAX_ICONS = 4;
const MAX_ICON_LENGTH = 8_192;

/**
 * Reads one entry of `tools/list`; an invalid entry is skipped or repaired.
 *
 * The MCP SDK's schema would reject the whole list for one bad `outputSchema`.
 */
export function readTool(entry: unknown): ToolReading {
  if (!isRecord(entry) || typeof entry.name !== "string" || entry.name === "") {
    return { problem: "a tool without a name is left out" };
  }
  const { name, title, description, inputSchema, outputSchema } = entry;
  const { annotations, icons, _meta } = entry;
  if (name.length > MAX_NAME_LENGTH) {
    return {
      problem: `tool "${
        hideSecrets(name).slice(0, 40)
      }…" is left out: its name is longer than ${MAX_NAME_LENGTH} characters`,
    };
  }
  if (isDeeper(entry, MAX_TOOL_DEPTH)) {
    return {
      problem:
        `tool "${name}" is left out: it is nested deeper than ${MAX_TOOL_DEPTH} levels`,
    };
  }
  const problems = [
    ...(isRecord(inputSchema) ? [] : ["inputSchema is not an object"]),
    ...(outputSchema === undefined || outputSchema === null ||
        isRecord(outputSchema)
      ? []
      : ["outputSchema is not an object"]),
  ];
  return {
    tool: {
      name,
      description: typeof description === "string" ? description : "",
      inputSchema: isRecord(inputSchema) ? inputSchema : { type: "object" },
      outputSchema: isRecord(outputSchema) ? outputSchema : null,
      annotations: isRecord(annotations) ? annotations : undefined,
      ...(typeof title === "string" && title !== "" && { title }),
      ...(Array.isArray(icons) && { icons: readIcons(icons) }),
      meta: isRecord(_meta) ? _meta : {},
    },
    ...(problems.length > 0 && {
      problem: `tool "${name}": ${problems.join(", ")}`,
    }),
  };
}

const readIcons = (icons: unknown[]): Icon[] =>
  icons.flatMap((icon): Icon[] => {
    if (!isRecord(icon)) return [];
    const { src, mimeType, sizes, theme } = icon;
    if (typeof src !== "string" || src.length > MAX_ICON_LENGTH) return [];
    const isText = (value: unknown) => typeof value === "string";
    return [{
      src,
      ...(typeof mimeType === "string" && { mimeType }),
      ...(Array.isArray(sizes) && sizes.every(isText) && { sizes }),
      ...(typeof theme === "string" && { theme }),
    }];
  }).slice(0, MAX_ICONS);

/** Reads a report of progress; `undefined` where it tells no number. */
export function readProgress(
  { progress, total, message }: Record<string, unknown>,
): ToolProgress | undefined {
  if (!isNumber(progress)) return undefined;
  return {
    progress,
    ...(isNumber(total) && { total }),
    ...(typeof message === "string" && { message }),
  };
}

const isNumber = (value: unknown): value is number => Number.isFinite(value);

/** One page of a list. */
interface Page<T> {
  /** The items of the page. */
  readonly items: readonly T[];
  /** The cursor of the next page; absent on the last. */
  readonly nextCursor?: string | undefined;
}

/** Maximum number of pages; an endless list is a server's mistake. */
const MAX_PAGES = 1_000;

/**
 * Collects the items of all pages.
 *
 * @param what the name of the list in errors, such as `tools/list`
 * @throws {Error} when a cursor repeats, or there are too many pages
 */
export async function allPages<T>(
  what: string,
  fetchPage: (cursor: string | undefined) => Promise<Page<T>>,
): Promise<T[]> {
  const items: T[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await fetchPage(cursor);
    for (const item of page.items) items.push(item);
    cursor = page.nextCursor;
    if (cursor !== undefined && (seen.has(cursor) || seen.size > MAX_PAGES)) {
      throw new Error(
        `Cannot list: ${what} never ends (cursor repeated, or over ${MAX_PAGES} pages)`,
      );
    }
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined);
  return items;
}

/**
 * Collects a list of an MCP server, unvalidated.
 *
 * @param field what pages have it under
 * @param ask requests a page
 * @throws {Error} as {@linkcode allPages}, and what `ask` throws
 */
export const allItems = (
  method: string,
  field: string,
  ask: (params: { cursor?: string }) => Promise<Record<string, unknown>>,
): Promise<unknown[]> =>
  allPages(method, async (cursor) => {
    const page = await ask(cursor === undefined ? {} : { cursor });
    return {
      items: Array.isArray(page[field]) ? page[field] : [],
      nextCursor: typeof page.nextCursor === "string"
        ? page.nextCursor
        : undefined,
    };
  });
