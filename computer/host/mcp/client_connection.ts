/**
 * A connection to an MCP server with the client of the MCP SDK, over any transport: its requests,
 * and its loss, which pings find out where the transport does not.
 *
 * @module
 */
import * as z from "zod";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  ElicitRequestSchema,
  ErrorCode,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import {
  allItems,
  type ClientConnectionOptions,
  type McpAskedOptions,
  type McpCallOptions,
  type McpCapabilities,
  type McpConnection,
  type McpRequestOptions,
  type McpResourcePage,
  type McpToolList,
  readProgress,
  readTool,
} from "./connection.ts";
import { ServerEndedError, SessionForgottenError } from "./errors.ts";
import {
  type AnswerQuestion,
  Questions,
  UnansweredError,
} from "./questions.ts";
import { AuthorizationError } from "../oauth/authorized_fetch.ts";
import { isRecord } from "../../util/values.ts";
import {
  type CallToolResult,
  parseCallToolResult,
  PROTOCOL_VERSION,
  type Resource,
  type ToolProgress,
} from "../../../protocol/mod.ts";
import { abortable, MAX_TIMER_MS, withTimeout } from "../../../shared/async.ts";

/** Time for a server to end its session. */
const TERMINATION_TIMEOUT_MS = 1_000;

/** Time for the other requests of a session that the server forgot. */
const RESPONSES_TIMEOUT_MS = 1_000;

/** The notification with which MCP servers tell how far a call is. */
const PROGRESS = "notifications/progress";

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
  const questions = elicits ? questionsOf(client, asksInAnswers) : undefined;
  try {
    signal.throwIfAborted();
    // Without a timeout the SDK uses one of 60 s.
    await abortable(
      client.connect(transport, { timeout: MAX_TIMER_MS }),
      signal,
    );
    return new ClientConnection(client, options, questions);
  } catch (error) {
    await transport.close().catch(() => {});
    throw error;
  }
}

class ClientConnection implements McpConnection {
  readonly capabilities: McpCapabilities;
  readonly #client: Client;
  readonly #options: ClientConnectionOptions;
  readonly #questions: Questions | undefined;
  #onNotification: (method: string, params: Record<string, unknown>) => void =
    () => {};
  #onLost: (reason: Error) => void = () => {};
  /** The receivers of progress, by its token. */
  readonly #followers = new Map<number, (progress: ToolProgress) => void>();
  #lastToken = 0;
  #ending = false;
  #running = 0;
  #refusal: AuthorizationError | undefined;
  #pinging = false;
  #forgotten = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    client: Client,
    options: ClientConnectionOptions,
    questions: Questions | undefined,
  ) {
    this.#client = client;
    this.#options = options;
    this.#questions = questions;
    this.capabilities = client.getServerCapabilities() ?? {};
    // The SDK's own handler loses the last progress where the result follows at once.
    client.removeNotificationHandler(PROGRESS);
    client.fallbackNotificationHandler = ({ method, params }) => {
      const given = isRecord(params) ? params : {};
      if (method !== PROGRESS) this.#onNotification(method, given);
      else {
        const progress = readProgress(given);
        const follower = this.#followers.get(Number(given.progressToken));
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
    { signal, onProgress, answer }: McpCallOptions,
  ): Promise<CallToolResult> {
    const progressToken = onProgress && ++this.#lastToken;
    if (progressToken && onProgress) {
      this.#followers.set(progressToken, onProgress);
    }
    try {
      const result = await this.#asked(
        answer,
        () =>
          this.#request("tools/call", {
            name,
            arguments: params,
            ...(progressToken && { _meta: { progressToken } }),
          }, { signal, timeout: MAX_TIMER_MS }),
      );
      return parseCallToolResult({ content: [], ...result });
    } finally {
      if (progressToken) this.#followers.delete(progressToken);
    }
  }

  async listTools(options?: McpRequestOptions): Promise<McpToolList> {
    if (!this.capabilities.tools) return { tools: [], problems: [] };
    const readings = (await this.#listAll("tools/list", "tools", options))
      .map(readTool);
    return {
      tools: readings.flatMap(({ tool }) => tool ? [tool] : []),
      problems: readings.flatMap(({ problem }) => problem ? [problem] : []),
    };
  }

  async listResources(
    cursor: string | undefined,
    options?: McpRequestOptions,
  ): Promise<McpResourcePage> {
    const page = await this.#request(
      "resources/list",
      cursor === undefined ? {} : { cursor },
      options,
    );
    return {
      resources: (Array.isArray(page.resources) ? page.resources : [])
        .filter(isRecord) as Resource[],
      ...(typeof page.nextCursor === "string" &&
        { nextCursor: page.nextCursor }),
    };
  }

  async readResource(
    uri: string,
    options?: McpRequestOptions,
  ): Promise<Record<string, unknown>[]> {
    const { contents } = await this.#asked(
      undefined,
      () => this.#request("resources/read", { uri }, options),
    );
    return Array.isArray(contents) ? contents.filter(isRecord) : [];
  }

  listPrompts(options?: McpRequestOptions): Promise<unknown[]> {
    return this.#listAll("prompts/list", "prompts", options);
  }

  getPrompt(
    name: string,
    params: Record<string, string>,
    { answer, ...options }: McpAskedOptions = {},
  ): Promise<Record<string, unknown>> {
    return this.#asked(
      answer,
      () => this.#request("prompts/get", { name, arguments: params }, options),
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

  /** Closes once the other requests of the forgotten session have heard of it, too: else they would seem lost. */
  async #forget(): Promise<void> {
    this.#forgotten = true;
    const { responded = () => Promise.resolve() } = this.#options;
    await withTimeout(RESPONSES_TIMEOUT_MS, responded).catch(() => {});
    await this.#client.close().catch(() => {});
  }

  /** Makes a request during which the server may ask. */
  #asked<T>(
    answer: AnswerQuestion | undefined,
    run: () => Promise<T>,
  ): Promise<T> {
    return this.#questions?.during(answer, run) ?? run();
  }

  #listAll(
    method: string,
    field: string,
    options: McpRequestOptions | undefined,
  ): Promise<unknown[]> {
    return allItems(
      method,
      field,
      (params) => this.#request(method, params, options),
    );
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
      if (error instanceof SessionForgottenError) await this.#forget();
      throw error;
    } finally {
      this.#running--;
      if (unanswered && this.#running === 0) this.#ping();
    }
  }

  /** Ends the connection unless the server answers, even with an error, or works on a request. */
  async #ping(): Promise<void> {
    if (this.#pinging || this.#ending) return;
    this.#pinging = true;
    const { pongMs, requestMs } = this.#options;
    try {
      await this.#client.ping({ timeout: pongMs ?? requestMs });
    } catch (error) {
      const silent = hasCode(error, ErrorCode.RequestTimeout);
      const answered = error instanceof McpError && !silent &&
        !hasCode(error, ErrorCode.ConnectionClosed);
      const busy = silent && this.#running > 0;
      if (answered || busy || this.#ending) return;
      if (error instanceof SessionForgottenError) return await this.#forget();
      if (error instanceof AuthorizationError) this.#refusal = error;
      await this.#client.close().catch(() => {});
    } finally {
      this.#pinging = false;
    }
  }

  #lost(): void {
    clearInterval(this.#timer);
    if (this.#ending) return;
    this.#ending = true;
    const how = this.#forgotten
      ? "forgot the session"
      : this.#options.explainLoss?.() ?? "no longer answers";
    this.#onLost(
      this.#refusal ?? new ServerEndedError(`The MCP server ${how}`),
    );
  }
}

const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof McpError && error.code === code;

/** The key of `_meta` with which an MCP server names its question. */
const KEY = "a2c-smcp/key";

/**
 * Receives the questions of one MCP server; its client must have declared that it can.
 *
 * @param inAnswers as {@linkcode Questions} has it
 */
export function questionsOf(client: Client, inAnswers?: boolean): Questions {
  const questions = new Questions(inAnswers);
  client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => {
    if (params.mode === "url") throw new UnansweredError("no page is opened");
    const { message, requestedSchema, _meta: meta } = params;
    const key = keyOf(meta?.[KEY]);
    return questions.answer({ message, requestedSchema, key }, signal);
  });
  return questions;
}

const keyOf = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z][\w.-]{0,63}$/.test(value)
    ? value
    : undefined;
