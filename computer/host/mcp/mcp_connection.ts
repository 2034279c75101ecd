/**
 * The Computer's view of an MCP server: the interface of a connection, the reading of its tools,
 * and the collecting of lists over pages. Loads nothing of the MCP SDK.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/types"
import type { ServerCapabilities } from "@modelcontextprotocol/sdk/types.js";
import { isDeeper, MAX_DEPTH } from "../../../client/message_limits.ts";
import { MAX_MESSAGE_VALUES } from "./errors.ts";
import { hideSecrets } from "../../util/secrets.ts";
import { reasonOf } from "../../util/values.ts";
import {
  mendInputSchema,
  mendOutputSchema,
  mendToolAnnotations,
} from "../../../protocol/mcp/mend.ts";
import { isRecord } from "../../../protocol/names.ts";
import type {
  CallToolResult,
  ElicitParams,
  ElicitResult,
  ElicitUrlParams,
  Icon,
  Resource,
  ToolProgress,
} from "../../../protocol/mod.ts";
import type { RequestMeta } from "../../../protocol/payloads/request_meta.ts";
import { weigh, type Weight } from "../../../shared/json/values.ts";
import { type Page, PagedList } from "../../../shared/pages.ts";

/** Options of one request to an MCP server. */
export interface McpRequestOptions {
  /** Aborts the request; the MCP server receives `notifications/cancelled`. */
  signal?: AbortSignal | undefined;
}

/** Options of a tool call. */
export interface McpCallOptions extends McpRequestOptions {
  /** Answers what the MCP server asks meanwhile; without it, questions are refused. */
  answer?: AnswerQuestion | undefined;
  /** Asks the MCP server for progress, and receives it until the call has ended; must not throw. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** `_meta` of the request for this call; without the keys that MCP defines. */
  meta?: RequestMeta | undefined;
}

/** What an MCP server asks: a form, or to open a page. */
export type Question = ElicitParams | ElicitUrlParams;

/** Answers a question that an MCP server asks during a call; a rejection refuses it with its text. */
export type AnswerQuestion = (
  question: Question,
  context: QuestionContext,
) => Promise<ElicitResult>;

/** The circumstances of a question. */
export interface QuestionContext {
  /** Withdraws the question: the MCP server did, or no call that may have caused it runs any more. */
  readonly signal: AbortSignal;
  /** Whether it is certain that this call caused the question: over stdio MCP does not say which one did. */
  readonly isCertain: boolean;
  /** The MCP server's key for the question. */
  readonly key?: string;
}

/** Options of `openConnection`. */
export interface ClientConnectionOptions {
  /** Timeout of every request except tool calls. */
  readonly requestMs: number;
  /** Timeout of a ping, after which the server counts as hung; default: `requestMs`. */
  readonly pongMs?: number | undefined;
  /** Hides secrets in the message of an error, in place. */
  readonly redact?: (error: unknown) => void;
  /** Ids of the offices that the Computer is in, which the server gets. */
  readonly offices?: readonly string[];
  /** Declares to the server that it may ask during tool calls. */
  readonly elicits?: boolean | undefined;
  /** Whether what the server asks during a call comes in that call's answer. */
  readonly asksInAnswers?: boolean;
  /** Returns whether the server keeps no session, once it has answered; only over Streamable HTTP. */
  readonly keepsNoSession?: () => boolean;
  /** Aborts the attempt. */
  readonly signal: AbortSignal;
  /** Describes how the connection ended, if the transport has the reason. */
  readonly explainLoss?: () => string | undefined;
  /** Returns a function that quotes what a child printed since then in place of messages, to end a sentence. */
  readonly watchOutput?: () => () => string;
  /** Counts what the server has answered so far, messages or not; more of it after a ping is a sign of life. */
  readonly answers?: () => number;
  /** Interval of pings; over HTTP nothing else shows that the server is gone. */
  readonly pingEveryMs?: number;
  /** Resolves when each request so far has its response, or has failed. */
  readonly responded?: () => Promise<unknown>;
  /** Ends the session on the server. */
  readonly terminate?: (() => Promise<void>) | undefined;
}

/**
 * A connection to an MCP server over any transport.
 *
 * A lost connection stays lost; a new start opens a new one. Pending requests reject when the
 * connection is lost. They reject with the error that the server answered, or why the connection
 * was lost.
 */
export interface McpConnection {
  /** The capabilities that the server declared. */
  readonly capabilities: ServerCapabilities;
  /** Its instructions for models, if it has some. */
  readonly instructions?: string | undefined;
  /** Its name and version, as it introduced itself; JSON. */
  readonly introduction: string;
  /** Ids of the offices that the server leads to, as it last named them; none for most servers. */
  readonly offices: readonly string[];
  /** Problems of its lists of resources and prompts, as they were last fetched. */
  readonly listProblems: string[];
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
  /** Returns a function that explains a silence since then, to end a sentence; empty without an explanation. */
  watchOutput(): () => string;
  /** Calls a tool; has no timeout besides the signal. */
  callTool(
    name: string,
    params: Record<string, unknown>,
    options: McpCallOptions,
  ): Promise<CallToolResult>;
  /** Lists the tools of all pages, in the server's order, with a sentence for each invalid entry. */
  listTools(options?: McpRequestOptions): Promise<ToolList>;
  /** Lists one page of resources, unvalidated. */
  listResources(
    cursor: string | undefined,
    options?: McpRequestOptions,
  ): Promise<{ resources: Resource[]; nextCursor?: string | undefined }>;
  /** Lists the resources of all pages, unvalidated. */
  listAllResources(options?: McpRequestOptions): Promise<Resource[]>;
  /** Lists the templates of URIs of all pages, as the server sent them. */
  listResourceTemplates(options?: McpRequestOptions): Promise<unknown[]>;
  /** Reads a resource; returns the `contents` as the server sent them. */
  readResource(
    uri: string,
    options?: McpRequestOptions,
  ): Promise<Record<string, unknown>[]>;
  /** Reads a resource; returns the metadata of the answer, too. */
  readWhole(uri: string, options?: McpRequestOptions): Promise<ReadContents>;
  /** Lists the prompts of all pages, as the server sent them. */
  listPrompts(options?: McpRequestOptions): Promise<unknown[]>;
  /** Gets a prompt; returns the result as the server sent it. */
  getPrompt(
    name: string,
    params: Record<string, string>,
    options?: Omit<McpCallOptions, "onProgress">,
  ): Promise<Record<string, unknown>>;
  /** Completes an argument or a variable; returns the `completion` as the server sent it. */
  complete(
    params: Record<string, unknown>,
    options?: McpRequestOptions,
  ): Promise<unknown>;
  /** Subscribes to changes of a resource. */
  subscribe(uri: string, options?: McpRequestOptions): Promise<void>;
  /** Ends a subscription. */
  unsubscribe(uri: string, options?: McpRequestOptions): Promise<void>;
  /** Ends the session, and the whole process group of a child process; never throws. */
  close(): Promise<void>;
}

/** What a resource contains. */
export interface ReadContents {
  /** Its parts. */
  readonly contents: Record<string, unknown>[];
  /** The metadata of the answer, if it has some. */
  readonly _meta?: Record<string, unknown>;
}

/** The tools of an MCP server. */
export interface ToolList {
  /** The valid ones, in the server's order. */
  readonly tools: McpTool[];
  /** A sentence for each invalid entry. */
  readonly problems: string[];
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

/** Maximum number of sentences about what is invalid, since people read them. */
export const MAX_PROBLEMS = 20;

/** Maximum length of identifiers on the wire (protocol §4). */
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
 *
 * @param problems receives a sentence about an invalid entry
 */
export function readTool(
  entry: unknown,
  problems: string[],
): McpTool | undefined {
  if (!isRecord(entry) || typeof entry.name !== "string" || entry.name === "") {
    problems.push("a tool without a name is left out");
    return undefined;
  }
  const { name, title, description, inputSchema, outputSchema } = entry;
  const { annotations, icons, _meta } = entry;
  const isLong = name.length > MAX_NAME_LENGTH;
  if (isLong || isDeeper(entry, MAX_TOOL_DEPTH)) {
    problems.push(
      isLong
        ? `tool "${
          hideSecrets(name.slice(0, 4_096)).slice(0, 40)
        }…" is left out: its name is longer than ${MAX_NAME_LENGTH} characters`
        : `tool "${name}" is left out: it is nested deeper than ${MAX_TOOL_DEPTH} levels`,
    );
    return undefined;
  }
  const note = (text: string) => problems.push(`tool "${name}": ${text}`);
  if (!isRecord(inputSchema)) note("inputSchema is not an object");
  if (!isRecord(outputSchema ?? {})) note("outputSchema is not an object");
  return {
    name,
    description: typeof description === "string" ? description : "",
    inputSchema: isRecord(inputSchema)
      ? mendInputSchema(inputSchema, note)
      : { type: "object" },
    outputSchema: isRecord(outputSchema)
      ? mendOutputSchema(outputSchema, note) ?? null
      : null,
    annotations: mendToolAnnotations(annotations, note),
    ...(typeof title === "string" && title !== "" && { title }),
    ...(Array.isArray(icons) && { icons: readIcons(icons) }),
    meta: isRecord(_meta) ? _meta : {},
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

/** Reads a report of progress; `undefined` without a number. */
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

/** Maximum UTF-16 units of texts in all pages: many times what an Agent could be sent. */
const MAX_LETTERS = 64 * 2 ** 20;

/** Maximum characters of a server's reason why a page failed. */
const MAX_REASON = 500;

/** The items of all pages of a list. */
export interface WholeList<T> {
  /** In the order of the pages, each once. */
  readonly items: T[];
  /** Why some may be missing. */
  readonly problem?: string;
}

/**
 * Collects the items of all pages, which may weigh as much as one message.
 *
 * A list that does not end, or of which a page fails, gives what came until then.
 *
 * @param what the name of the list in problems, such as `tools/list`
 * @param key the field that identifies its items
 * @param isFatal whether an error of a page is about more than the page
 * @throws the error of the first page, and any that is fatal
 */
export async function allPages<T>(
  what: string,
  key: string,
  fetchPage: (cursor: string | undefined) => Promise<Page<T>>,
  isFatal: (error: unknown) => boolean,
): Promise<WholeList<T>> {
  const items: T[] = [];
  const list = new PagedList<T>(key);
  const sum: Weight = { values: 0, letters: 0 };
  const endedBy = (problem: string): WholeList<T> => ({
    items,
    problem: `${what} ${problem}; what came before is used`,
  });
  for (let number = 1;; number++) {
    let page: Page<T>;
    try {
      page = await fetchPage(list.cursor);
    } catch (error) {
      if (number === 1 || isFatal(error)) throw error;
      if (list.cursor === "") return { items }; // by which some mean the end
      const reason = reasonOf(error).slice(0, MAX_REASON);
      return endedBy(`is not complete: page ${number} failed (${reason})`);
    }
    const { values, letters } = weigh(page.items, MAX_MESSAGE_VALUES);
    sum.values += values;
    sum.letters += letters + (page.nextCursor?.length ?? 0);
    if (sum.values > MAX_MESSAGE_VALUES || sum.letters > MAX_LETTERS) {
      return endedBy(
        `is too long (over ${MAX_MESSAGE_VALUES} values, or ${MAX_LETTERS} characters, in all its pages)`,
      );
    }
    for (const item of list.take(page)) items.push(item);
    if (list.problem !== undefined) return endedBy(list.problem);
    if (list.cursor === undefined) return { items };
  }
}
