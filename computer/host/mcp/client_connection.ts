/**
 * A connection to an MCP server over any transport, in a session or since 2026-07-28 without one: its
 * requests, the questions that the server asks meanwhile, and its loss, which pings find out where the
 * transport does not.
 *
 * @module
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
// @ts-types="@modelcontextprotocol/sdk/types"
import type { ServerCapabilities } from "@modelcontextprotocol/sdk/types.js";
import {
  allPages,
  type ClientConnectionOptions,
  MAX_PROBLEMS,
  type McpCallOptions,
  type McpConnection,
  type McpRequestOptions,
  type ReadContents,
  readProgress,
  readTool,
  type ToolList,
  type WholeList,
} from "./mcp_connection.ts";
import { ChangeStream } from "./change_stream.ts";
import { HEADER_MISMATCH, mcpErrorCode, pagesOf } from "./errors.ts";
import { type Handshake, Peer, shakeHands } from "./handshake.ts";
import { AuthorizationError } from "../oauth/authorized_fetch.ts";
import { mendResult } from "../../../protocol/mcp/mend.ts";
import { isRecord } from "../../../protocol/names.ts";
import type {
  CallToolResult,
  Resource,
  ToolProgress,
} from "../../../protocol/mod.ts";
import { hasValidMarks } from "../../../protocol/mcp/param_headers.ts";
import {
  passedOn,
  readOffices,
} from "../../../protocol/payloads/request_meta.ts";
import { carryStructured } from "../../../protocol/payloads/tool_result.ts";
import { log } from "../../util/log.ts";
import { Link } from "./link.ts";
import { answersTo, askedRounds, Questions } from "./questions.ts";
import { finished, isTaskOnly, runsTasks, TASK_TTL_MS } from "./tasks.ts";
import type { Page } from "../../../shared/pages.ts";
import { abortable, MAX_TIMER_MS, withTimeout } from "../../../shared/async.ts";

/** Time for the user to grant the rights to a call; later the call fails, and another one finds them. */
const RIGHTS_TIMEOUT_MS = 30_000;

/** Time for each page of a list after the first: less than callers wait for a list. */
const NEXT_PAGE_MS = 8_000;

/** The notification of MCP servers about the progress of a call. */
const PROGRESS = "notifications/progress";
/** The one that a person is done with a page. */
const COMPLETED = "notifications/elicitation/complete";

/** For requests without a signal. */
const NEVER = new AbortController().signal;

/** The fields that identify the items of lists. */
const LIST_KEYS = {
  tools: "name",
  resources: "uri",
  resourceTemplates: "uriTemplate",
  prompts: "name",
} as const;

const methodOf = (list: keyof typeof LIST_KEYS): string =>
  `${list === "resourceTemplates" ? "resources/templates" : list}/list`;

/**
 * Connects to an MCP server over a transport; closes the transport before it rejects.
 *
 * @throws the transport's error, or the signal's reason
 */
export async function openConnection(
  transport: Transport,
  options: ClientConnectionOptions,
): Promise<McpConnection> {
  const { signal, elicits, asksInAnswers } = options;
  const peer = new Peer();
  const questions = new Questions(asksInAnswers);
  if (elicits) questions.receive(peer);
  const begin = async () => {
    await peer.connect(transport);
    return await shakeHands(peer, options);
  };
  try {
    signal.throwIfAborted();
    const handshake = await abortable(begin(), signal);
    return new ClientConnection(peer, handshake, options, questions);
  } catch (error) {
    await transport.close().catch(() => {});
    throw error;
  }
}

/** A connection to an MCP server that has answered. */
class ClientConnection implements McpConnection {
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  readonly introduction: string;
  offices: readonly string[];
  readonly watchOutput: () => () => string;
  readonly #link: Link;
  readonly #options: ClientConnectionOptions;
  readonly #questions: Questions;
  /** What announces changes, without a session. */
  readonly #changes: ChangeStream | undefined;
  /** The tools that are called as tasks. */
  #taskTools: ReadonlySet<string> = new Set();
  #onNotification: (method: string, params: Record<string, unknown>) => void =
    () => {};
  /** The receivers of progress, by its token. */
  readonly #followers = new Map<number, (progress: ToolProgress) => void>();
  #lastToken = 0;
  /** Problems of its lists, by their names. */
  readonly #listProblems = new Map<string, string>();

  constructor(
    peer: Peer,
    handshake: Handshake,
    options: ClientConnectionOptions,
    questions: Questions,
  ) {
    const { capabilities, offices, envelope } = handshake;
    this.#link = new Link(peer, handshake, options);
    this.#options = options;
    this.#questions = questions;
    this.capabilities = capabilities;
    this.offices = offices;
    this.watchOutput = options.watchOutput ?? (() => () => "");
    this.instructions = handshake.instructions;
    this.introduction = handshake.introduction;
    // The SDK's own handler loses the last progress where the result follows at once.
    peer.removeNotificationHandler(PROGRESS);
    peer.fallbackNotificationHandler = ({ method, params = {} }) => {
      if (method === PROGRESS) {
        const progress = readProgress(params);
        const follower = this.#followers.get(Number(params.progressToken));
        if (progress) follower?.(progress);
      } else if (method === COMPLETED) {
        questions.completed(params.elicitationId);
      } else if (!this.#changes?.takes(method)) {
        this.#onNotification(method, params);
      }
      return Promise.resolve();
    };
    this.#changes = envelope && new ChangeStream(capabilities, {
      timeoutMs: options.requestMs,
      missed: (method, params) => this.#onNotification(method, params),
      listen: (notifications, signal) =>
        this.#link.send("subscriptions/listen", { notifications }, {
          signal,
          timeout: MAX_TIMER_MS,
        }),
    });
  }

  get listProblems(): string[] {
    return [...this.#listProblems.values()];
  }

  onNotification(
    listener: (method: string, params: Record<string, unknown>) => void,
  ): void {
    this.#onNotification = listener;
  }

  onLost(listener: (reason: Error) => void): void {
    this.#link.onLost = (reason) => {
      this.#changes?.close();
      listener(reason);
    };
  }

  async callTool(
    name: string,
    params: Record<string, unknown>,
    { signal, onProgress, answer, meta }: McpCallOptions,
  ): Promise<CallToolResult> {
    const progressToken = ++this.#lastToken;
    const _meta = {
      ...(meta && passedOn(meta)),
      ...(onProgress && { progressToken }),
    };
    let done = 0;
    if (onProgress) {
      this.#followers.set(progressToken, (progress) => {
        done = progress.progress;
        onProgress(progress);
      });
    }
    const isTask = this.#taskTools.has(name);
    const request = {
      name,
      arguments: params,
      ...((meta || onProgress) && { _meta }),
      ...(isTask && { task: { ttl: TASK_TTL_MS } }),
    };
    const end = signal ?? NEVER;
    const call = () =>
      this.#questions.during(answer, async () =>
        finished(
          await this.#rounds("tools/call", request, {
            signal,
            answer,
            timeout: MAX_TIMER_MS,
          }),
          {
            request: (method, params, signal) =>
              this.#link.request(method, params, {
                signal,
                ...(method === "tasks/result" && { timeout: MAX_TIMER_MS }),
              }),
            answers: (asked) => answersTo(asked, answer, end),
            report: (message) => onProgress?.({ progress: done, message }),
            signal: end,
          },
        ));
    try {
      const result = await call().catch(async (error) => {
        if (!await this.#isRepeatable(error, answer, end)) throw error;
        return await call(); // once: a server could ask for more without end
      });
      return readResult(name, result);
    } finally {
      this.#followers.delete(progressToken);
    }
  }

  /** Returns whether a call that failed, and did not run, can be made again now. */
  async #isRepeatable(
    error: unknown,
    answer: McpCallOptions["answer"],
    signal: AbortSignal,
  ): Promise<boolean> {
    const pages = pagesOf(error);
    if (answer && pages.length > 0) {
      return await this.#questions.open(pages, answer, signal);
    }
    if (mcpErrorCode(error) !== HEADER_MISMATCH) {
      return await isGranted(error, signal);
    }
    await this.#allPages("tools", { signal }); // the headers are those of the new schema
    return true;
  }

  async listTools(options?: McpRequestOptions): Promise<ToolList> {
    const problems: string[] = [];
    const { items, problem } = this.capabilities.tools
      ? await this.#allPages("tools", options)
      : { items: [] };
    if (problem !== undefined) problems.push(problem);
    const taskTools = new Set<string>();
    const tools = items.flatMap((entry) => {
      const tool = readTool(entry, problems);
      if (!tool) return [];
      const why = this.#whyUncallable(entry);
      if (why !== undefined) {
        problems.push(`tool "${tool.name}" is left out: ${why}`);
        return [];
      }
      if (isTaskOnly(entry)) taskTools.add(tool.name);
      return [tool];
    });
    this.#taskTools = taskTools;
    const more = problems.length - MAX_PROBLEMS;
    if (more > 0) {
      problems.length = MAX_PROBLEMS;
      problems.push(`${more} more entries of its list are invalid`);
    }
    return { tools, problems };
  }

  /** Returns why an entry of the list of tools cannot be called, if it cannot. */
  #whyUncallable(entry: unknown): string | undefined {
    if (!this.#changes) {
      return isTaskOnly(entry) && !runsTasks(this.capabilities)
        ? "it can be called as a task alone, and the server runs no calls as tasks"
        : undefined;
    }
    return hasValidMarks(Object(entry).inputSchema)
      ? undefined
      : "a mark x-mcp-header in its inputSchema is invalid";
  }

  async listResources(
    cursor: string | undefined,
    options?: McpRequestOptions,
  ): Promise<{ resources: Resource[]; nextCursor?: string | undefined }> {
    const page = await this.#page("resources", cursor, options);
    const resources = page.items.filter(isRecord) as Resource[];
    return { resources, nextCursor: page.nextCursor };
  }

  async listAllResources(options?: McpRequestOptions): Promise<Resource[]> {
    const resources = await this.#listAll("resources", options);
    return resources.filter(isRecord) as Resource[];
  }

  listResourceTemplates(options?: McpRequestOptions): Promise<unknown[]> {
    return this.#listAll("resourceTemplates", options);
  }

  async readResource(
    uri: string,
    options?: McpRequestOptions,
  ): Promise<Record<string, unknown>[]> {
    return (await this.readWhole(uri, options)).contents;
  }

  async readWhole(
    uri: string,
    options?: McpRequestOptions,
  ): Promise<ReadContents> {
    const { contents, _meta } = await this.#questions.during(
      undefined,
      () => this.#rounds("resources/read", { uri }, options),
    );
    return {
      contents: Array.isArray(contents) ? contents.filter(isRecord) : [],
      ...(isRecord(_meta) && { _meta }),
    };
  }

  listPrompts(options?: McpRequestOptions): Promise<unknown[]> {
    return this.#listAll("prompts", options);
  }

  getPrompt(
    name: string,
    params: Record<string, string>,
    { answer, signal }: Omit<McpCallOptions, "onProgress"> = {},
  ): Promise<Record<string, unknown>> {
    const request = { name, arguments: params };
    return this.#questions.during(
      answer,
      () => this.#rounds("prompts/get", request, { signal, answer }),
    );
  }

  async complete(
    params: Record<string, unknown>,
    options?: McpRequestOptions,
  ): Promise<unknown> {
    const method = "completion/complete";
    return (await this.#link.request(method, params, options)).completion;
  }

  async subscribe(uri: string, options?: McpRequestOptions): Promise<void> {
    if (!this.#changes) {
      await this.#link.request("resources/subscribe", { uri }, options);
    } else {
      await abortable(this.#changes.add(uri), options?.signal ?? NEVER);
    }
  }

  async unsubscribe(uri: string, options?: McpRequestOptions): Promise<void> {
    if (this.#changes) this.#changes.remove(uri);
    else await this.#link.request("resources/unsubscribe", { uri }, options);
  }

  close(): Promise<void> {
    this.#changes?.close();
    return this.#link.close();
  }

  /** Lists all, and keeps what is wrong with the list. */
  async #listAll(
    what: Exclude<keyof typeof LIST_KEYS, "tools">,
    options?: McpRequestOptions,
  ): Promise<unknown[]> {
    const { items, problem } = await this.#allPages(what, options);
    if (problem === undefined) this.#listProblems.delete(what);
    else this.#listProblems.set(what, problem);
    return items;
  }

  #allPages(
    what: keyof typeof LIST_KEYS,
    options?: McpRequestOptions,
  ): Promise<WholeList<unknown>> {
    return allPages(
      methodOf(what),
      LIST_KEYS[what],
      (cursor) => this.#page(what, cursor, options),
      (error) =>
        this.#link.hasEnded || options?.signal?.aborted === true ||
        error instanceof AuthorizationError,
    );
  }

  async #page(
    what: keyof typeof LIST_KEYS,
    cursor: string | undefined,
    options?: McpRequestOptions,
  ): Promise<Page<unknown>> {
    const isFirst = cursor === undefined;
    const { requestMs } = this.#options;
    const { [what]: items, nextCursor, _meta } = await this.#link.request(
      methodOf(what),
      isFirst ? {} : { cursor },
      {
        ...options,
        timeout: isFirst ? requestMs : Math.min(requestMs, NEXT_PAGE_MS),
      },
    );
    const offices = readOffices(_meta);
    if (offices.length > 0) this.offices = offices;
    return {
      items: Array.isArray(items) ? items : [],
      nextCursor: typeof nextCursor === "string" ? nextCursor : undefined,
    };
  }

  /** Sends a request, and the answers to what its result asks for; in a session the server asks by requests. */
  #rounds(
    method: string,
    params: Record<string, unknown>,
    { answer, ...options }: McpCallOptions & { timeout?: number } = {},
  ): Promise<Record<string, unknown>> {
    if (!this.#changes) return this.#link.request(method, params, options);
    return askedRounds(
      (fields) => this.#link.request(method, { ...params, ...fields }, options),
      answer,
      options.signal ?? NEVER,
    );
  }
}

/** Reads the result of a call; what is wrong in it is mended, since nothing else is left of the call. */
function readResult(
  tool: string,
  answer: Record<string, unknown>,
): CallToolResult {
  const problems: string[] = [];
  const result = mendResult(answer, (problem) => problems.push(problem));
  if (problems.length > 0) {
    log.warn("The result of {tool} is mended: {problems}", {
      tool,
      problems: problems.slice(0, MAX_PROBLEMS).join("; "),
    });
  }
  return carryStructured(result);
}

/** Waits a while for the user who is being asked for the rights to a call; false without such a question. */
async function isGranted(
  error: unknown,
  signal: AbortSignal,
): Promise<boolean> {
  const { granted } = error instanceof AuthorizationError
    ? error
    : { granted: undefined };
  if (!granted) return false;
  return await withTimeout(RIGHTS_TIMEOUT_MS, () => granted, { signal })
    .catch(() => false);
}
