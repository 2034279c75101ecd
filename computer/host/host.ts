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
  /** The name by which Agents call it. */
  readonly name: string;
  /** The MCP server that has it. */
  readonly server: string;
}

/** Options of an {@linkcode McpHost}. */
export interface McpHostOptions {
  /** Starts and reaches MCP servers; default: {@linkcode connectMcp}. */
  readonly connect?: ConnectMcp;
  /** Replaces placeholders at each start; default: none has a value, so a configuration with placeholders fails. */
  readonly prepare?: HostedServerOptions["prepare"];
  /** How long an MCP server may take to start; default 60,000, as it may have to be downloaded. */
  readonly startTimeoutMs?: number;
  /** When a server that was lost or failed to start is restarted. */
  readonly restart?: Partial<RestartPolicy> | undefined;
}

/** Events of an {@linkcode McpHost}, with their values. */
export interface McpHostEvents {
  /** A server's state changed. */
  serverState: ServerStatus;
  /** The offered tools may have changed. */
  toolsChanged: undefined;
  /** Servers were added, replaced or removed. */
  configChanged: undefined;
  /** A server's list of resources changed. */
  resourcesChanged: { server: string };
  /** A subscribed resource changed. */
  resourceUpdated: { server: string; uri: string };
}

/**
 * The MCP servers of a Computer. They are independent: a slow, broken or disabled server neither
 * delays nor hides the others.
 */
export class McpHost implements AsyncDisposable {
  readonly #servers = new Map<string, HostedServer>();
  /** Servers that were removed or replaced and are still stopping, by name. */
  readonly #retiring = new Map<string, Promise<unknown>>();
  readonly #events = new Emitter<McpHostEvents>(logThrown);
  readonly #options: McpHostOptions;
  #names: ToolNames | undefined;
  #closed = false;

  /** Creates a host; its servers are not started yet. */
  constructor(
    configs: readonly ServerConfig[],
    options: McpHostOptions = {},
  ) {
    this.#options = options;
    for (const config of configs) this.#insert(config);
  }

  /** Adds a listener; returns the function that removes it. */
  on<E extends keyof McpHostEvents>(
    event: E,
    listener: Listener<McpHostEvents[E]>,
  ): () => void {
    return this.#events.on(event, listener);
  }

  /** The configurations with their placeholders, in the order in which they were added. */
  get configs(): ServerConfig[] {
    return [...this.#servers.values()].map(({ config }) => config);
  }

  /** The status of each server. */
  get statuses(): ServerStatus[] {
    return [...this.#servers.values()].map(({ status }) => status);
  }

  /** The input of the rules about tools, for each server. */
  get views(): ServerView[] {
    return [...this.#servers.values()].map(({ view }) => view);
  }

  /** The problems of the configuration as a whole: clashing names. */
  get problems(): string[] {
    return clashTexts(this.#toolNames().clashes);
  }

  /** Returns a server by its name. */
  server(name: string): HostedServer | undefined {
    return this.#servers.get(name);
  }

  /** Lists the tools that can be called right now. */
  tools(): SMCPTool[] {
    return [...this.#toolNames().offers.values()]
      .filter(({ server }) => server.state === "running")
      .map(toSMCPTool);
  }

  /** Lists the names of those tools, each with its MCP server. */
  offers(): OfferedTool[] {
    return [...this.#toolNames().offers.values()]
      .filter(({ server }) => server.state === "running")
      .map(({ name, server }) => ({ name, server: server.name }));
  }

  /** Finds the tool of a call by its name. */
  resolve(name: string): ToolResolution {
    return resolveTool(name, this.views, this.#toolNames());
  }

  /** Starts all servers at once; resolves when each runs or has failed. */
  async start(): Promise<void> {
    if (this.#closed) return;
    await Promise.all(
      [...this.#servers.values()].map((server) => server.start()),
    );
  }

  /**
   * Adds a server and starts it; resolves when it runs or has failed.
   *
   * @throws {TypeError} when there is a server of that name
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

  /** Replaces the server of the same name; calls that are running on the old one fail. */
  async updateServer(config: ServerConfig): Promise<void> {
    const old = this.#need(config.name);
    const server = this.#insert(config);
    this.#changed();
    if (config.disabled) this.#tell(server); // it never starts, so no other event follows
    await Promise.all([this.#retire(old), server.start()]);
  }

  /** Stops and removes a server. */
  async removeServer(name: string): Promise<void> {
    const server = this.#need(name);
    this.#servers.delete(name);
    this.#changed();
    await this.#retire(server);
  }

  /** Starts a stopped or failed server; resolves when it runs or has failed. */
  startServer(name: string): Promise<void> {
    return this.#need(name).start();
  }

  /** Restarts servers that wait for authorization, after the Computer was authorized. */
  authorized(): void {
    for (const server of this.#servers.values()) server.authorized();
  }

  /** Stops a server; its tools stay known, and calls are answered that it is stopped. */
  stopServer(name: string): Promise<void> {
    return this.#need(name).stop();
  }

  /** Stops all servers with all their processes. */
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

  /** Stops a removed or replaced server; `close` and a server of the same name wait for it. */
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
      throw new TypeError("Cannot add an MCP server: the Computer is closed");
    }
    const { name } = config;
    const { prepare = withoutInputs } = this.#options;
    const server: HostedServer = new HostedServer(config, {
      connect: this.#options.connect ?? connectMcp,
      prepare: async (config, signal) => {
        // Two servers of one name would compete for the same port or file.
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
