/**
 * A connection to an MCP server with the client of the MCP SDK, over any transport: its requests, the
 * questions that the server asks meanwhile, and its loss, which pings find out where the transport does
 * not.
 *
 * @module
 */
import * as z from "zod";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  ErrorCode,
  McpError,
  type ServerCapabilities,
} from "@modelcontextprotocol/sdk/types.js";
import {
  allPages,
  type ClientConnectionOptions,
  MAX_PROBLEMS,
  type McpCallOptions,
  type McpConnection,
  type McpRequestOptions,
  readProgress,
  readTool,
  type ToolList,
  type WholeList,
} from "./mcp_connection.ts";
import { ServerEndedError, SessionForgottenError } from "./errors.ts";
import { refusedHandshake } from "./handshake.ts";
import { AuthorizationError } from "../oauth/authorized_fetch.ts";
import { mendResult } from "../../../protocol/mcp/mend.ts";
import { isRecord } from "../../../protocol/names.ts";
import {
  type CallToolResult,
  PROTOCOL_VERSION,
  type Resource,
  type ToolProgress,
} from "../../../protocol/mod.ts";
import { exchangeOffices } from "./exchange_offices.ts";
import {
  passedOn,
  readOffices,
} from "../../../protocol/payloads/request_meta.ts";
import { carryStructured } from "../../../protocol/payloads/tool_result.ts";
import { log } from "../../util/log.ts";
import { Questions } from "./questions.ts";
import type { Page } from "../../../shared/pages.ts";
import { abortable, MAX_TIMER_MS, withTimeout } from "../../../shared/async.ts";

/** Time for a server to end its session. */
const TERMINATION_TIMEOUT_MS = 1_000;

/** Time for the user to grant the rights to a call; later the call fails, and another one finds them. */
const RIGHTS_TIMEOUT_MS = 30_000;

/** Time for the other requests of a session that the server forgot. */
const RESPONSES_TIMEOUT_MS = 1_000;

/** Time for each page of a list after the first: less than callers wait for a list. */
const NEXT_PAGE_MS = 8_000;

/** The notification of MCP servers about the progress of a call. */
const PROGRESS = "notifications/progress";

/** The fields that identify the items of lists. */
const LIST_KEYS = { tools: "name", resources: "uri", prompts: "name" } as const;

/** Accepts any result: items are validated one by one, as the SDK's schemas reject whole lists. */
const anyResult = z.looseObject({});

/**
 * Opens an MCP session over a transport; closes the transport before it rejects.
 *
 * @throws the transport's error, or the signal's reason
 */
export async function openConnection(
  transport: Transport,
  options: ClientConnectionOptions,
): Promise<McpConnection> {
  const { signal, elicits, asksInAnswers } = options;
  const client = new Client(
    { name: "a2c-smcp-computer", version: PROTOCOL_VERSION },
    { capabilities: elicits ? { elicitation: { form: {} } } : {} },
  );
  const questions = new Questions(asksInAnswers);
  if (elicits) questions.receive(client);
  const named = exchangeOffices(transport, options.offices ?? []);
  try {
    signal.throwIfAborted();
    // Without a timeout the SDK uses one of 60 s.
    await abortable(
      client.connect(transport, { timeout: MAX_TIMER_MS }),
      signal,
    );
    const connection = new ClientConnection(client, options, questions);
    connection.offices = named();
    return connection;
  } catch (error) {
    await transport.close().catch(() => {});
    throw refusedHandshake(error) ?? error;
  }
}

/** A connection with the client of the MCP SDK. */
class ClientConnection implements McpConnection {
  readonly capabilities: ServerCapabilities;
  offices: readonly string[] = [];
  readonly watchOutput: () => () => string;
  readonly #client: Client;
  readonly #options: ClientConnectionOptions;
  readonly #questions: Questions;
  #onNotification: (method: string, params: Record<string, unknown>) => void =
    () => {};
  #onLost: (reason: Error) => void = () => {};
  /** The receivers of progress, by its token. */
  readonly #followers = new Map<number, (progress: ToolProgress) => void>();
  #lastToken = 0;
  /** Problems of its lists, by their names. */
  readonly #listProblems = new Map<string, string>();
  #ending = false;
  #running = 0;
  #pinging = false;
  /** The request that shows whether the session still exists, while it is pending. */
  #probe: Promise<unknown> | undefined;
  /** Why it is lost, where that is known before. */
  #loss: Error | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    client: Client,
    options: ClientConnectionOptions,
    questions: Questions,
  ) {
    this.#client = client;
    this.#options = options;
    this.#questions = questions;
    this.capabilities = client.getServerCapabilities() ?? {};
    this.watchOutput = options.watchOutput ?? (() => () => "");
    // The SDK's own handler loses the last progress where the result follows at once.
    client.removeNotificationHandler(PROGRESS);
    client.fallbackNotificationHandler = ({ method, params = {} }) => {
      if (method !== PROGRESS) this.#onNotification(method, params);
      else {
        const progress = readProgress(params);
        const follower = this.#followers.get(Number(params.progressToken));
        if (progress) follower?.(progress);
      }
      return Promise.resolve();
    };
    client.onclose = () => this.#lost();
    if (options.pingEveryMs !== undefined) {
      client.onerror = () => this.#ping();
      this.#timer = setInterval(() => this.#ping(), options.pingEveryMs);
    }
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
    this.#onLost = listener;
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
    if (onProgress) this.#followers.set(progressToken, onProgress);
    const request = {
      name,
      arguments: params,
      ...((meta || onProgress) && { _meta }),
    };
    const limits = { signal, timeout: MAX_TIMER_MS };
    const call = () => this.#request("tools/call", request, limits);
    try {
      const result = await this.#questions.during(answer, call)
        .catch(async (error) => {
          if (!await isGranted(error, signal)) throw error;
          // Once: a server could ask for more without end.
          return await this.#questions.during(answer, call);
        });
      return readResult(name, result);
    } finally {
      this.#followers.delete(progressToken);
    }
  }

  async listTools(options?: McpRequestOptions): Promise<ToolList> {
    const problems: string[] = [];
    const { items, problem } = this.capabilities.tools
      ? await this.#allPages("tools", options)
      : { items: [] };
    if (problem !== undefined) problems.push(problem);
    const tools = items.flatMap((entry) => readTool(entry, problems) ?? []);
    const more = problems.length - MAX_PROBLEMS;
    if (more > 0) {
      problems.length = MAX_PROBLEMS;
      problems.push(`${more} more entries of its list are invalid`);
    }
    return { tools, problems };
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

  async readResource(
    uri: string,
    options?: McpRequestOptions,
  ): Promise<Record<string, unknown>[]> {
    const { contents } = await this.#questions.during(
      undefined,
      () => this.#request("resources/read", { uri }, options),
    );
    return Array.isArray(contents) ? contents.filter(isRecord) : [];
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
      () => this.#request("prompts/get", request, { signal }),
    );
  }

  async subscribe(uri: string, options?: McpRequestOptions): Promise<void> {
    await this.#request("resources/subscribe", { uri }, options);
  }

  async unsubscribe(uri: string, options?: McpRequestOptions): Promise<void> {
    await this.#request("resources/unsubscribe", { uri }, options);
  }

  async close(): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    clearInterval(this.#timer);
    const { terminate } = this.#options;
    // The session on the server; the connection closes anyway.
    if (terminate) {
      await withTimeout(TERMINATION_TIMEOUT_MS, terminate).catch(() => {});
    }
    await this.#client.close().catch(() => {});
  }

  /** Closes once the other requests of the forgotten session are answered, too: else they would seem lost. */
  async #forget(): Promise<void> {
    this.#loss = new ServerEndedError("The MCP server forgot the session");
    const { responded = () => Promise.resolve() } = this.#options;
    await withTimeout(RESPONSES_TIMEOUT_MS, responded).catch(() => {});
    await this.#client.close().catch(() => {});
  }

  /** Lists all, and keeps what is wrong with the list. */
  async #listAll(
    what: "resources" | "prompts",
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
      `${what}/list`,
      LIST_KEYS[what],
      (cursor) => this.#page(what, cursor, options),
      (error) =>
        this.#ending || options?.signal?.aborted === true ||
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
    const { [what]: items, nextCursor, _meta } = await this.#request(
      `${what}/list`,
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

  /**
   * Sends a request; after a timeout, checks with a ping whether the server hangs.
   *
   * The ping waits until no other request runs: a server that does one thing at a time answers no
   * ping while it works, and must not be restarted for that.
   */
  async #request(
    method: string,
    params: Record<string, unknown>,
    { signal, timeout = this.#options.requestMs }: McpRequestOptions & {
      timeout?: number;
    } = {},
  ): Promise<Record<string, unknown>> {
    this.#running++;
    let unanswered = false;
    try {
      return await this.#client.request({ method, params }, anyResult, {
        timeout,
        ...(signal && { signal }),
      });
    } catch (error) {
      unanswered = hasCode(error, ErrorCode.RequestTimeout);
      this.#options.redact?.(error);
      if (!(error instanceof SessionForgottenError)) throw error;
      if (!await this.#isForgotten()) throw error.answer;
      await this.#forget();
      throw error;
    } finally {
      this.#running--;
      if (unanswered && this.#running === 0) this.#ping();
    }
  }

  /** Finds out with another request whether the session is forgotten: some answer 404 to one request alone. */
  async #isForgotten(): Promise<boolean> {
    const list = this.#list;
    if (this.#loss !== undefined || list === undefined) return true;
    this.#probe ??= this.#client.request(
      { method: `${list}/list` },
      anyResult,
      { timeout: this.#options.requestMs },
    );
    try {
      await this.#probe;
      return false;
    } catch (error) {
      return error instanceof SessionForgottenError || this.#ending;
    } finally {
      this.#probe = undefined;
    }
  }

  /** A list that the server has. */
  get #list(): keyof typeof LIST_KEYS | undefined {
    const lists = ["tools", "resources", "prompts"] as const;
    return lists.find((list) => this.capabilities[list]);
  }

  /** Ends the connection if the server is silent, and does not work on a request: any answer is a sign of life. */
  async #ping(): Promise<void> {
    if (this.#pinging || this.#ending) return;
    this.#pinging = true;
    const { pongMs, requestMs, answers = () => 0 } = this.#options;
    const before = answers();
    try {
      await this.#client.ping({ timeout: pongMs ?? requestMs });
    } catch (error) {
      if (this.#ending) return;
      const isRefused = error instanceof SessionForgottenError ||
        error instanceof AuthorizationError;
      if (isRefused) return await this.#confirm();
      const isSilent = hasCode(error, ErrorCode.RequestTimeout);
      const hasAnswered = answers() > before ||
        error instanceof McpError && !isSilent &&
          !hasCode(error, ErrorCode.ConnectionClosed);
      const isBusy = isSilent && this.#running > 0;
      if (hasAnswered || isBusy) return;
      await this.#client.close().catch(() => {});
    } finally {
      this.#pinging = false;
    }
  }

  /** Ends the connection if another request is refused as a ping was, which some servers do not support. */
  async #confirm(): Promise<void> {
    const list = this.#list;
    if (list === undefined) return;
    try {
      await this.#page(list, undefined);
    } catch (error) {
      // With `granted`, only this request lacks a right, which the user is being asked for.
      const isDenied = error instanceof AuthorizationError && !error.granted;
      if (!isDenied) return;
      this.#loss = error;
      await this.#client.close().catch(() => {});
    }
  }

  #lost(): void {
    clearInterval(this.#timer);
    if (this.#ending) return;
    this.#ending = true;
    const { explainLoss, redact } = this.#options;
    const how = explainLoss?.() ?? "no longer answers";
    const reason = this.#loss ?? new ServerEndedError(`The MCP server ${how}`);
    redact?.(reason);
    this.#onLost(reason);
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
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { granted } = error instanceof AuthorizationError
    ? error
    : { granted: undefined };
  if (!granted) return false;
  return await withTimeout(RIGHTS_TIMEOUT_MS, () => granted, { signal })
    .catch(() => false);
}

const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof McpError && error.code === code;
