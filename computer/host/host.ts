import { MAX_TIMER_MS } from "../../shared/async.ts";
import type { SMCPTool } from "../../protocol/mod.ts";
import type { ServerConfig } from "../config/server_config.ts";
import { Emitter, type Listener } from "../../client/emitter.ts";
import { HostedServer } from "./hosted_server.ts";
import type {
  ConnectMcp,
  HostedServerOptions,
} from "./hosted_server_options.ts";
import { InputStore } from "../config/inputs/input_store.ts";
import { prepareConfig } from "../config/inputs/prepare_config.ts";
import { log, logThrown } from "../util/log.ts";
import { connectMcp } from "./mcp/connect.ts";
import { RESTART_POLICY, type RestartPolicy } from "./restart_policy.ts";
import { resolveTool, type ToolResolution } from "./resolve_tool.ts";
import type { ServerStatus, ServerView } from "./server_status.ts";
import { toSMCPTool } from "./tool_meta.ts";
import { clashTexts, nameTools, type ToolNames } from "./tool_naming.ts";

/** A tool that can be called right now. */
export interface OfferedTool {
  /** What Agents call it by. */
  readonly name: string;
  /** The MCP server that has it. */
  readonly server: string;
}

/** What a {@linkcode McpHost} can be told. */
export interface McpHostOptions {
  /** How MCP servers are started and reached; default: as processes and over HTTP. */
  readonly connect?: ConnectMcp;
  /** Replaces placeholders at each start; default: a configuration that has some fails. */
  readonly prepare?: HostedServerOptions["prepare"];
  /** Milliseconds that an MCP server gets to start; default 60,000: it may have to be downloaded. */
  readonly startTimeoutMs?: number;
  /** When one that was lost or could not start is started again. */
  readonly restart?: Partial<RestartPolicy> | undefined;
}

/** What happens to the MCP servers of a {@linkcode McpHost}. */
export interface McpHostEvents {
  /** A server's state changed. */
  serverState: ServerStatus;
  /** What tools are offered may have changed. */
  toolsChanged: undefined;
  /** Servers were added, replaced or removed. */
  configChanged: undefined;
  /** A server's list of resources changed. */
  resourcesChanged: { server: string };
  /** A subscribed resource changed. */
  resourceUpdated: { server: string; uri: string };
}

/**
 * The MCP servers of a Computer, each with a life of its own: one that is slow, broken or
 * disabled neither delays nor hides the others.
 */
export class McpHost implements AsyncDisposable {
  readonly #servers = new Map<string, HostedServer>();
  /** What is left of servers that are no longer in the configuration, by name. */
  readonly #retiring = new Map<string, Promise<unknown>>();
  readonly #events = new Emitter<McpHostEvents>(logThrown);
  readonly #options: McpHostOptions;
  #names: ToolNames | undefined;
  #closed = false;

  /** Makes a host whose servers are not started yet. */
  constructor(
    configs: readonly ServerConfig[],
    options: McpHostOptions = {},
  ) {
    this.#options = options;
    for (const config of configs) this.#insert(config);
  }

  /** Adds a listener; returns the function that takes it away. */
  on<E extends keyof McpHostEvents>(
    event: E,
    listener: Listener<McpHostEvents[E]>,
  ): () => void {
    return this.#events.on(event, listener);
  }

  /** The configurations, placeholders and all, in the order in which they were added. */
  get configs(): ServerConfig[] {
    return [...this.#servers.values()].map(({ config }) => config);
  }

  /** How each server is doing. */
  get statuses(): ServerStatus[] {
    return [...this.#servers.values()].map(({ status }) => status);
  }

  /** What rules need to know of each server. */
  get views(): ServerView[] {
    return [...this.#servers.values()].map(({ view }) => view);
  }

  /** What is wrong with the configuration as a whole: names that clash. */
  get problems(): string[] {
    return clashTexts(this.#toolNames().clashes);
  }

  /** A server by its name. */
  server(name: string): HostedServer | undefined {
    return this.#servers.get(name);
  }

  /** The tools that can be called right now. */
  tools(): SMCPTool[] {
    return [...this.#toolNames().offers.values()]
      .filter(({ server }) => server.state === "running")
      .map(toSMCPTool);
  }

  /** The names of those tools, each with the MCP server that has it. */
  offers(): OfferedTool[] {
    return [...this.#toolNames().offers.values()]
      .filter(({ server }) => server.state === "running")
      .map(({ name, server }) => ({ name, server: server.name }));
  }

  /** Finds the tool that a call names. */
  resolve(name: string): ToolResolution {
    return resolveTool(name, this.views, this.#toolNames());
  }

  /** Starts all servers at once; resolves when each of them runs or has failed. */
  async start(): Promise<void> {
    if (this.#closed) return;
    await Promise.all(
      [...this.#servers.values()].map((server) => server.start()),
    );
  }

  /**
   * Adds a server and starts it; resolves when it runs or has failed.
   *
   * @throws {TypeError} when there is one of that name
   */
  async addServer(config: ServerConfig): Promise<void> {
    if (this.#servers.has(config.name)) {
      throw new TypeError(
        `Cannot add MCP server "${config.name}": there is one of that name; update or remove it`,
      );
    }
    const server = this.#insert(config);
    this.#changed();
    await server.start();
  }

  /** Replaces a server by one of the same name; calls that run on the old one fail. */
  async updateServer(config: ServerConfig): Promise<void> {
    const old = this.#need(config.name);
    const server = this.#insert(config);
    this.#changed();
    if (config.disabled) this.#tell(server); // it is never started, so nothing else will
    await Promise.all([this.#retire(old), server.start()]);
  }

  /** Stops a server and forgets it. */
  async removeServer(name: string): Promise<void> {
    const server = this.#need(name);
    this.#servers.delete(name);
    this.#changed();
    await this.#retire(server);
  }

  /** Starts a server that is stopped or failed; resolves when it runs or has failed. */
  startServer(name: string): Promise<void> {
    return this.#need(name).start();
  }

  /** The Computer was authorized for some MCP server: those that wait for that are started now. */
  authorized(): void {
    for (const server of this.#servers.values()) server.authorized();
  }

  /** Stops a server; its tools are known, but answer that it is stopped. */
  stopServer(name: string): Promise<void> {
    return this.#need(name).stop();
  }

  /** Stops all servers; nothing that they started is left. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#events.clear();
    await Promise.all([
      ...this.#retiring.values(),
      ...[...this.#servers.values()].map((server) => server.stop()),
    ]);
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Stops a server that is no longer in the configuration; `close` and its successor wait for it. */
  async #retire(server: HostedServer): Promise<void> {
    const { name } = server.config;
    const stopped = Promise.all([this.#retiring.get(name), server.stop()]);
    this.#retiring.set(name, stopped);
    await stopped;
    if (this.#retiring.get(name) === stopped) this.#retiring.delete(name);
  }

  #toolNames(): ToolNames {
    return this.#names ??= nameTools(this.views);
  }

  #need(name: string): HostedServer {
    const server = this.#servers.get(name);
    if (server) return server;
    throw new TypeError(
      `There is no MCP server "${name}"; the configuration has ${
        [...this.#servers.keys()].map((n) => `"${n}"`).join(", ") || "none"
      }`,
    );
  }

  #insert(config: ServerConfig): HostedServer {
    if (this.#closed) {
      throw new TypeError("Cannot add a MCP server: the Computer is closed");
    }
    const { name } = config;
    const { prepare = withoutInputs } = this.#options;
    const server: HostedServer = new HostedServer(config, {
      connect: this.#options.connect ?? connectMcp,
      prepare: async (config, signal) => {
        // Two of one name would fight over their port, or their file.
        await this.#retiring.get(name);
        signal.throwIfAborted();
        return await prepare(config, signal);
      },
      startTimeoutMs: Math.min(
        this.#options.startTimeoutMs ?? 60_000,
        MAX_TIMER_MS,
      ),
      restart: { ...RESTART_POLICY, ...this.#options.restart },
      onState: () => {
        this.#names = undefined;
        this.#tell(server);
      },
      onTools: () => {
        this.#names = undefined;
        this.#events.emit("toolsChanged", undefined);
      },
      onNotification: (method, params) => {
        if (method === RESOURCES_CHANGED) {
          this.#events.emit("resourcesChanged", { server: name });
        } else if (
          method === RESOURCE_UPDATED && typeof params.uri === "string"
        ) {
          this.#events.emit("resourceUpdated", {
            server: name,
            uri: params.uri,
          });
        }
      },
    });
    this.#servers.set(name, server);
    return server;
  }

  #tell(server: HostedServer): void {
    const { status } = server;
    const { name, state } = status;
    if (this.#servers.get(name) !== server) return; // replaced or removed
    log.info("MCP server {server} is {state}", { server: name, state });
    this.#events.emit("serverState", status);
  }

  #changed(): void {
    this.#names = undefined;
    this.#events.emit("configChanged", undefined);
    this.#events.emit("toolsChanged", undefined);
  }
}

const RESOURCES_CHANGED = "notifications/resources/list_changed";
const RESOURCE_UPDATED = "notifications/resources/updated";

const withoutInputs: HostedServerOptions["prepare"] = async (config, signal) =>
  config.type === "in-process"
    ? config
    : await prepareConfig(config, new InputStore(), signal);
