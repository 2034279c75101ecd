/**
 * All MCP servers of a Computer: adding, replacing and removing them, and what they have in common,
 * such as names and events. One server is in `hosted_server.ts`.
 *
 * @module
 */
import { Emitter, type Listener } from "../../client/emitter.ts";
import { bundleIdOf, type ServerConfig } from "../config/config.ts";
import {
  HostedServer,
  type HostedServerOptions,
  RESTART_POLICY,
  type RestartPolicy,
} from "./hosted_server.ts";
import { OwnOffices } from "./mcp/own_offices.ts";
import { ServerSet } from "./server_set.ts";
import {
  clashTexts,
  type NamedTool,
  nameTools,
  type ToolNames,
} from "./tool_naming.ts";
import type { ServerStatus, ServerView } from "./server_status.ts";
import {
  type OfferedTool,
  resolveTool,
  type ToolResolution,
  toSMCPTool,
} from "./tool_table.ts";
import { log, logThrown } from "../util/log.ts";
import type { SMCPTool } from "../../protocol/mod.ts";
import { nameToCall } from "../../protocol/payloads/tools.ts";
import { MAX_TIMER_MS } from "../../shared/async.ts";

/**
 * The MCP servers of a Computer. They are independent: a slow, broken or disabled server neither
 * delays nor hides the others.
 */
export class McpHost implements AsyncDisposable {
  /** All of them, and how they are named. */
  readonly names: ServerSet<HostedServer> = new ServerSet();
  /** The offices that the Computer is in. */
  readonly offices: OwnOffices = new OwnOffices();
  /** Servers that are not started, since one before them has the same `bundle_id`. */
  #shadowed: readonly ServerConfig[] = [];
  /** Servers that were removed or replaced and are still stopping. */
  readonly #retiring = new Map<HostedServer, Promise<unknown>>();
  readonly #events = new Emitter<McpHostEvents>(logThrown);
  readonly #options: McpHostOptions;
  /** The one table of all tools by their names; none after a change. */
  #tools: { views: ServerView[]; names: ToolNames } | undefined;
  #closed = false;

  /** Creates a host; its servers are not started yet. Of those with one `bundle_id` it has the first. */
  constructor(
    configs: readonly ServerConfig[],
    options: McpHostOptions,
  ) {
    this.#options = options;
    const { active, shadowed } = splitById(configs);
    this.#shadowed = shadowed;
    for (const config of active) this.#insert(config);
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
    return [...this.names.values()].map(({ config }) => config);
  }

  /** The status of each server. */
  get statuses(): ServerStatus[] {
    return [...this.names.values()].map(({ status }) => status);
  }

  /** The input of the rules about tools, for each server. */
  get views(): ServerView[] {
    return [...this.names.values()].map(({ view }) => view);
  }

  /** The problems of the configuration as a whole: ids that are taken, and clashing names. */
  get problems(): string[] {
    return [
      ...this.#shadowed.map((config) => {
        const bundleId = bundleIdOf(config);
        const holder = this.server(bundleId)?.config ?? config;
        return `MCP server "${config.name}" is not started: "${holder.name}" comes first and has the same bundle_id, "${bundleId}"; give one of them a "bundle_id" of its own`;
      }),
      ...clashTexts(this.#table.names.clashes),
    ];
  }

  /** Names servers and tools as another version of the protocol does, and announces the changes. */
  useBundleIds(bundleIds: boolean): void {
    if (bundleIds === this.names.bundleIds) return;
    this.names.bundleIds = bundleIds;
    this.#changed();
  }

  /** The ids of the offices that running servers lead to, each once. */
  get behind(): string[] {
    const ids = [...this.names.values()]
      .flatMap(({ connection }) => connection?.offices ?? []);
    return [...new Set(ids)];
  }

  /** Takes ids of an office that the Computer is in, and ends the servers that lead back to it. */
  isIn(ids: readonly string[], office: string): void {
    if (!this.offices.add(ids, office)) return;
    for (const server of this.names.values()) server.checkOffices();
  }

  /** Forgets the ids of the office that the Computer was in; in another one, servers may not lead back. */
  officeChanged(isInOne: boolean): void {
    this.offices.clear();
    if (!isInOne) return;
    for (const server of this.names.values()) server.officeChanged();
  }

  /** Returns a server by what identifies it. */
  server(bundleId: string): HostedServer | undefined {
    return this.names.get(bundleId);
  }

  /** Lists the tools that can be called right now. */
  tools(): SMCPTool[] {
    return this.#running.map(toSMCPTool);
  }

  /** Lists the names of those tools, each with its MCP server. */
  offers(): OfferedTool[] {
    return this.#running.map((
      { name, server: { name: server, bundleId } },
    ) => ({ name, server, ...(bundleId !== server && { bundleId }) }));
  }

  /** Finds the tool of a call by its name. */
  resolve(name: string): ToolResolution {
    const { views, names } = this.#table;
    return resolveTool(name, views, names);
  }

  /** Returns the name that a tool is called by, from that or its name of other versions. */
  nameToCall(name: string): string {
    const isExact = this.resolve(name).kind === "call";
    return isExact ? name : nameToCall(this.tools(), name);
  }

  get #running(): NamedTool[] {
    return [...this.#table.names.offers.values()]
      .filter(({ server }) => server.state === "running");
  }

  get #table(): { views: ServerView[]; names: ToolNames } {
    if (this.#tools) return this.#tools;
    const { views } = this;
    return this.#tools = { views, names: nameTools(views) };
  }

  /** Starts all servers in parallel; resolves when each runs or has failed. */
  async start(): Promise<void> {
    if (this.#closed) return;
    await Promise.all(this.names.values().map((server) => server.start()));
  }

  /**
   * Adds a server and starts it, in the place of that with its `bundle_id` if there is one of another
   * name; resolves when it runs or has failed.
   *
   * @throws {TypeError} when there is that server already
   */
  async addServer(config: ServerConfig): Promise<void> {
    const bundleId = bundleIdOf(config);
    const taken = this.server(bundleId);
    if (taken?.config.name === config.name) {
      throw new TypeError(
        `Cannot add MCP server "${config.name}": there is one of that name; update or remove it`,
      );
    }
    if (taken) return await this.updateServer(config, bundleId);
    const server = this.#insert(config);
    this.#changed();
    await server.start();
  }

  /**
   * Replaces a server; calls that are running on the old one fail.
   *
   * @param bundleId of the old one
   * @throws {TypeError} when there is none, or the new one would get the id of a third
   */
  async updateServer(
    config: ServerConfig,
    bundleId: string = bundleIdOf(config),
  ): Promise<void> {
    const old = this.#need(bundleId);
    const next = bundleIdOf(config);
    const holder = this.server(next);
    if (holder && holder !== old) {
      throw new TypeError(
        `Cannot replace MCP server "${old.config.name}": the bundle_id "${next}" is that of "${holder.config.name}"; give it another one`,
      );
    }
    if (next !== old.bundleId) this.names.delete(old.bundleId);
    const server = this.#insert(config);
    this.#changed();
    if (config.disabled) this.#announce(server); // it never starts, so no other event follows
    await Promise.all([this.#retire(old), server.start()]);
  }

  /** Stops and removes a server; the next one with its `bundle_id` starts then. */
  async removeServer(bundleId: string): Promise<void> {
    const server = this.#need(bundleId);
    this.names.delete(server.bundleId);
    const next = this.#shadowed.find((one) => bundleIdOf(one) === bundleId);
    const heir = next && this.#insert(next);
    this.#shadowed = this.#shadowed.filter((one) => one !== next);
    this.#changed();
    await Promise.all([this.#retire(server), heir?.start()]);
  }

  /** Takes note of servers that are not started, since one before them has the same `bundle_id`. */
  shadow(configs: readonly ServerConfig[]): void {
    const isSame = configs.length === this.#shadowed.length &&
      configs.every((config, i) => config === this.#shadowed[i]);
    this.#shadowed = configs;
    if (!isSame) this.#changed();
  }

  /** Starts a stopped or failed server; resolves when it runs or has failed. */
  startServer(bundleId: string): Promise<void> {
    return this.#need(bundleId).start();
  }

  /** Restarts servers that wait for authorization, after the Computer was authorized. */
  authorized(): void {
    for (const server of this.names.values()) server.authorized();
  }

  /** Stops a server; its tools stay known, and calls are answered that it is stopped. */
  stopServer(bundleId: string): Promise<void> {
    return this.#need(bundleId).stop();
  }

  /** Stops all servers with all their processes. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#events.clear();
    await Promise.all([
      ...this.#retiring.values(),
      ...this.names.values().map((server) => server.stop()),
    ]);
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Stops a removed or replaced server; `close` and the one after it wait for it. */
  async #retire(server: HostedServer): Promise<void> {
    const stopped = server.stop();
    this.#retiring.set(server, stopped);
    await stopped;
    this.#retiring.delete(server);
  }

  #need(bundleId: string): HostedServer {
    return this.server(bundleId) ?? this.names.find(bundleId);
  }

  #insert(config: ServerConfig): HostedServer {
    if (this.#closed) {
      throw new TypeError("Cannot add an MCP server: the Computer is closed");
    }
    const { connect, prepare, startTimeoutMs, restart } = this.#options;
    const bundleId = bundleIdOf(config);
    const server: HostedServer = new HostedServer(config, {
      names: this.names,
      connect,
      prepare: async (config, signal) => {
        // The same server twice would compete for the same port or file.
        await Promise.all(
          [...this.#retiring].filter(([old]) => isSuccessor(server, old))
            .map(([, stopped]) => stopped),
        );
        signal.throwIfAborted();
        return await prepare(config, signal);
      },
      offices: this.offices,
      startTimeoutMs: Math.min(startTimeoutMs ?? 60_000, MAX_TIMER_MS),
      restart: { ...RESTART_POLICY, ...restart },
      onState: () => {
        this.#tools = undefined;
        this.#announce(server);
      },
      onTools: () => {
        this.#tools = undefined;
        this.#events.emit("toolsChanged", undefined);
      },
      onNotification: (method, { uri }) => {
        const from = { server: bundleId };
        if (method === RESOURCES_CHANGED) {
          this.#events.emit("resourcesChanged", from);
        } else if (method === PROMPTS_CHANGED) {
          this.#events.emit("promptsChanged", from);
        } else if (method === RESOURCE_UPDATED && typeof uri === "string") {
          this.#events.emit("resourceUpdated", { ...from, uri });
        }
      },
    });
    this.names.set(bundleId, server);
    return server;
  }

  #announce(server: HostedServer): void {
    if (this.server(server.bundleId) !== server) return; // replaced or removed
    const { status } = server;
    const { name, state } = status;
    log.info("MCP server {server} is {state}", { server: name, state });
    this.#events.emit("serverState", status);
  }

  #changed(): void {
    this.#tools = undefined;
    this.#events.emit("configChanged", undefined);
    this.#events.emit("toolsChanged", undefined);
  }
}

const isSuccessor = (server: HostedServer, old: HostedServer): boolean =>
  server !== old &&
  (old.bundleId === server.bundleId || old.config.name === server.config.name);

const RESOURCES_CHANGED = "notifications/resources/list_changed";
const PROMPTS_CHANGED = "notifications/prompts/list_changed";
const RESOURCE_UPDATED = "notifications/resources/updated";

/** Options of an `McpHost`. */
export interface McpHostOptions
  extends Pick<HostedServerOptions, "connect" | "prepare"> {
  /** As a {@linkcode HostedServer} has it; default 60,000. */
  readonly startTimeoutMs?: number | undefined;
  /** Differences from {@linkcode RESTART_POLICY}. */
  readonly restart?: Partial<RestartPolicy> | undefined;
}

/** Events of an `McpHost`, with their values. */
interface McpHostEvents {
  /** A server's state changed. */
  serverState: ServerStatus;
  /** The offered tools may have changed. */
  toolsChanged: undefined;
  /** Servers were added, replaced or removed. */
  configChanged: undefined;
  /** The list of resources of the server with this `bundle_id` changed. */
  resourcesChanged: { server: string };
  /** Its list of prompts changed. */
  promptsChanged: { server: string };
  /** A subscribed resource of it changed. */
  resourceUpdated: { server: string; uri: string };
}

/** Splits servers into the first of each `bundle_id`, and the others. */
export function splitById(
  configs: readonly ServerConfig[],
): { active: ServerConfig[]; shadowed: ServerConfig[] } {
  const taken = new Set<string>();
  const active: ServerConfig[] = [];
  const shadowed: ServerConfig[] = [];
  for (const config of configs) {
    const id = bundleIdOf(config);
    (taken.has(id) ? shadowed : active).push(config);
    taken.add(id);
  }
  return { active, shadowed };
}
