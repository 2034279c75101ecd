import { abortable, MAX_TIMER_MS, withTimeout } from "../../../shared/async.ts";
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/types"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import * as z from "zod";
import {
  type CallToolResult,
  parseCallToolResult,
  PROTOCOL_VERSION,
  type Resource,
} from "../../../protocol/mod.ts";
import { isRecord } from "../../util/values.ts";
import { AuthorizationError } from "../oauth/authorization_error.ts";
import { SessionForgottenError } from "./answering_fetch.ts";
import type {
  McpCapabilities,
  McpConnection,
  McpRequestOptions,
  McpResourcePage,
  McpToolList,
} from "./connection.ts";
import { allPages } from "./pages.ts";
import { readTool } from "./tool.ts";

/** How a {@linkcode McpConnection} is made of a transport. */
export interface ClientConnectionOptions {
  /** Milliseconds for every request but a tool call. */
  readonly requestMs: number;
  /** Milliseconds for a ping, after which the server counts as hung; default: `requestMs`. */
  readonly pongMs?: number | undefined;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
  /** Says how the connection ended, where the transport knows. */
  readonly explainLoss?: () => string | undefined;
  /** Over HTTP nothing tells that the server is gone: errors and long silences are looked into. */
  readonly pingEveryMs?: number;
  /** Ends the session at the server's side. */
  readonly terminate?: () => Promise<void>;
}

/** The SDK arms a timer of 60 s unless told otherwise. */
const NEVER = MAX_TIMER_MS;
/** Milliseconds that a server gets to hear of the end of its session. */
const TERMINATION = 1_000;

/** Anything goes: what matters is read item by item, since the SDK's schemas reject whole lists. */
const anyResult = z.looseObject({});

/**
 * Opens an MCP session over a transport; on failure the transport is closed when this rejects.
 *
 * @throws the transport's error, or the signal's reason
 */
export async function openConnection(
  transport: Transport,
  options: ClientConnectionOptions,
): Promise<McpConnection> {
  const { signal } = options;
  const client = new Client(
    { name: "a2c-smcp-computer", version: PROTOCOL_VERSION },
    { capabilities: {} },
  );
  try {
    signal.throwIfAborted();
    await abortable(client.connect(transport, { timeout: NEVER }), signal);
    return new ClientConnection(client, options);
  } catch (error) {
    await transport.close().catch(() => {});
    throw error;
  }
}

class ClientConnection implements McpConnection {
  readonly capabilities: McpCapabilities;
  readonly #client: Client;
  readonly #options: ClientConnectionOptions;
  #onNotification: (method: string, params: Record<string, unknown>) => void =
    () => {};
  #onLost: (reason: Error) => void = () => {};
  #ending = false;
  #running = 0;
  #refusal: AuthorizationError | undefined;
  #pinging = false;
  #forgotten = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(client: Client, options: ClientConnectionOptions) {
    this.#client = client;
    this.#options = options;
    this.capabilities = client.getServerCapabilities() ?? {};
    client.fallbackNotificationHandler = ({ method, params }) => {
      this.#onNotification(method, isRecord(params) ? params : {});
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
    { signal }: McpRequestOptions,
  ): Promise<CallToolResult> {
    const result = await this.#request("tools/call", {
      name,
      arguments: params,
    }, { signal, timeout: NEVER });
    return parseCallToolResult({ content: [], ...result });
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
    const { contents } = await this.#request(
      "resources/read",
      { uri },
      options,
    );
    return Array.isArray(contents) ? contents.filter(isRecord) : [];
  }

  async subscribe(uri: string, options?: McpRequestOptions): Promise<void> {
    await this.#request("resources/subscribe", { uri }, options);
  }

  async close(): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    clearInterval(this.#timer);
    await this.#terminate();
    await this.#client.close().catch(() => {});
  }

  /** A server that does not care ends the session with the connection. */
  async #terminate(): Promise<void> {
    const { terminate } = this.#options;
    if (!terminate) return;
    await withTimeout(TERMINATION, terminate).catch(() => {});
  }

  #listAll(
    method: string,
    field: string,
    options: McpRequestOptions | undefined,
  ): Promise<unknown[]> {
    return allPages(method, async (cursor) => {
      const page = await this.#request(
        method,
        cursor === undefined ? {} : { cursor },
        options,
      );
      return {
        items: Array.isArray(page[field]) ? page[field] : [],
        nextCursor: typeof page.nextCursor === "string"
          ? page.nextCursor
          : undefined,
      };
    });
  }

  /**
   * Sends a request; one that ends without an answer may have met a server that hangs.
   *
   * That is looked into once nothing else runs on it: a server that does one thing at a time
   * answers no ping while it works, and must not be killed for it.
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
      if (error instanceof SessionForgottenError) {
        this.#forgotten = true;
        await this.#client.close().catch(() => {});
      }
      throw error;
    } finally {
      this.#running--;
      if (unanswered && this.#running === 0) this.#ping();
    }
  }

  /** Ends the connection unless the server answers, be it that it knows no ping, or is at work. */
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
    this.#onLost(this.#refusal ?? new Error(`The MCP server ${how}`));
  }
}

const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof McpError && error.code === code;
