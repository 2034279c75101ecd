import type { MCPServerConfig } from "../protocol/mod.ts";
import { reasonOf } from "./_values.ts";
import { coalesce } from "./coalesce.ts";
import { log } from "./log.ts";
import type { McpConnection } from "./mcp/connection.ts";
import type { McpTool } from "./mcp/tool.ts";
import type { ServerState, ServerStatus, ServerView } from "./server_status.ts";

/** Starts or reaches a MCP server; nothing of it is left when it rejects. */
export type ConnectMcp = (
  config: MCPServerConfig,
  signal: AbortSignal,
) => Promise<McpConnection>;

/** What a {@linkcode HostedServer} needs, and whom it tells what. */
export interface HostedServerOptions {
  /** Makes the connection. */
  readonly connect: ConnectMcp;
  /** Replaces placeholders by their values, each time the server starts. */
  readonly prepare: (
    config: MCPServerConfig,
    signal: AbortSignal,
  ) => Promise<MCPServerConfig>;
  /** Milliseconds from the end of `prepare` to the list of tools. */
  readonly startTimeoutMs: number;
  /** Its state changed. */
  readonly onState: (status: ServerStatus) => void;
  /** What tools it offers changed. */
  readonly onTools: () => void;
  /** A notification of the server; must not wait for anything. */
  readonly onNotification: (
    method: string,
    params: Record<string, unknown>,
  ) => void;
}

/** One MCP server of a Computer: its life, its tools, its connection while it runs. */
export class HostedServer {
  /** As loaded, placeholders and all. */
  readonly config: MCPServerConfig;
  readonly #options: HostedServerOptions;
  #state: ServerState;
  #error: string | undefined;
  #tools: readonly McpTool[] = [];
  #problems: readonly string[] = [];
  #connection: McpConnection | undefined;
  #starting: { abort: AbortController; done: Promise<void> } | undefined;
  readonly #relist: () => void = coalesce(() => this.#listAgain());

  /** Makes a server that is not started yet. */
  constructor(config: MCPServerConfig, options: HostedServerOptions) {
    this.config = config;
    this.#options = options;
    this.#state = config.disabled ? "disabled" : "stopped";
  }

  /** What rules about tools need to know. */
  get view(): ServerView {
    return {
      name: this.config.name,
      config: this.config,
      state: this.#state,
      tools: this.#tools,
    };
  }

  /** What people are told. */
  get status(): ServerStatus {
    return {
      name: this.config.name,
      type: this.config.type,
      state: this.#state,
      tools: this.#tools.length,
      ...(this.#error !== undefined && { error: this.#error }),
      problems: this.#problems,
    };
  }

  /** How to speak to it; undefined unless it is running. */
  get connection(): McpConnection | undefined {
    return this.#connection;
  }

  /**
   * Starts it unless it is disabled, running or starting; resolves when it runs or has failed.
   *
   * Never rejects: how it went is in {@linkcode status}.
   */
  start(): Promise<void> {
    if (this.#starting) return this.#starting.done;
    if (this.#state === "disabled" || this.#connection) {
      return Promise.resolve();
    }
    const abort = new AbortController();
    const starting = { abort, done: this.#start(abort) };
    this.#starting = starting;
    return starting.done;
  }

  /** Stops it, children of its process included; resolves when nothing of it is left. */
  async stop(): Promise<void> {
    const starting = this.#starting;
    starting?.abort.abort(new Error("it was stopped while it started"));
    await starting?.done;
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
    this.#setState(this.config.disabled ? "disabled" : "stopped");
  }

  async #start(abort: AbortController): Promise<void> {
    const { connect, prepare, startTimeoutMs } = this.#options;
    const { signal } = abort;
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.#setState("starting");
    let connection: McpConnection | undefined;
    try {
      // Not on the clock: a person may be typing.
      const config = await prepare(this.config, signal);
      timer = setTimeout(() => {
        abort.abort(
          new Error(`it was not ready within ${startTimeoutMs / 1000} s`),
        );
      }, startTimeoutMs);
      connection = await connect(config, signal);
      let lost: Error | undefined;
      let dirty = false;
      connection.onLost((reason) => lost = reason);
      connection.onNotification((method, params) => {
        dirty ||= method === TOOLS_CHANGED;
        this.#options.onNotification(method, params);
      });
      const { tools, problems } = await connection.listTools({ signal });
      if (lost) throw lost;
      signal.throwIfAborted();
      this.#run(connection, tools, problems);
      if (dirty) this.#relist();
    } catch (error) {
      await connection?.close();
      this.#setState(
        "failed",
        reasonOf(signal.aborted ? signal.reason : error),
      );
    } finally {
      clearTimeout(timer);
      this.#starting = undefined;
    }
  }

  #run(
    connection: McpConnection,
    tools: readonly McpTool[],
    problems: readonly string[],
  ): void {
    connection.onLost((reason) => {
      if (this.#connection !== connection) return;
      this.#connection = undefined;
      this.#setState("failed", reason.message);
    });
    connection.onNotification((method, params) => {
      if (method === TOOLS_CHANGED) this.#relist();
      this.#options.onNotification(method, params);
    });
    this.#connection = connection;
    this.#tools = tools;
    this.#problems = problems;
    this.#setState("running");
  }

  async #listAgain(): Promise<void> {
    const connection = this.#connection;
    if (!connection) return;
    try {
      const { tools, problems } = await connection.listTools();
      if (this.#connection !== connection) return;
      this.#tools = tools;
      this.#problems = problems;
      this.#options.onTools();
    } catch (error) {
      log.warn("Cannot list the tools of {server} again: {reason}", {
        server: this.config.name,
        reason: reasonOf(error),
      });
    }
  }

  #setState(state: ServerState, error?: string): void {
    this.#state = state;
    this.#error = error;
    this.#options.onState(this.status);
    this.#options.onTools();
  }
}

const TOOLS_CHANGED = "notifications/tools/list_changed";
