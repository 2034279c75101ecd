import process from "node:process";
import { io } from "socket.io-client";
import { Connection } from "../protocol/client/connection.ts";
import { Emitter, type Listener } from "../protocol/client/emitter.ts";
import {
  type AgentCallData,
  type CallToolResult,
  CANCEL_TOOL_CALL_NOTIFICATION,
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  type ServerEvent,
  UPDATE_CONFIG_EVENT,
  UPDATE_DESKTOP_EVENT,
  UPDATE_FINDER_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../protocol/mod.ts";
import { reasonOf } from "./_values.ts";
import { Announcer } from "./announcer.ts";
import { Authorizations } from "./authorization/authorizations.ts";
import { CallTable } from "./call_table.ts";
import { type ConfigChanges, diffConfigs } from "./config/diff_configs.ts";
import {
  type ComputerConfig,
  parseComputerConfig,
} from "./config/parse_config.ts";
import { readServerConfig } from "./config/read_server_config.ts";
import { Confirmations } from "./confirmations.ts";
import type { ServerSettings } from "./config/settings.ts";
import type { DpeResolver } from "./dpe/resolver.ts";
import { answerRequest } from "./handlers/mod.ts";
import { McpHost } from "./host.ts";
import { discreetConnect } from "./inputs/discreet_connect.ts";
import { type ComputerInputs, InputStore } from "./inputs/input_store.ts";
import { prepareConfig } from "./inputs/prepare_config.ts";
import { log } from "./log.ts";
import { connectMcp } from "./mcp/connect.ts";
import type {
  ComputerEvents,
  ComputerStatus,
  SmcpComputerOptions,
  ToolCallStarted,
} from "./options.ts";
import { RecentServers } from "./recent_servers.ts";
import { ResourceWatch } from "./resources/resource_watch.ts";
import { checkVrl } from "./vrl/vrl_compiler.ts";
import { Warner } from "./warner.ts";

/**
 * A Computer: hosts MCP servers and offers their tools to the Agent of its office (spec §1).
 *
 * The MCP servers start with the first `connect`, all at once, and nothing waits for them: what is
 * ready is offered, the rest follows. After a lost connection the Computer comes back by itself.
 */
export class SmcpComputer implements AsyncDisposable {
  readonly #name: string;
  readonly #inputs: InputStore;
  readonly #confirmations: Confirmations;
  readonly #authorizations: Authorizations | undefined;
  readonly #connection: Connection;
  readonly #host: McpHost;
  readonly #calls = new CallTable();
  readonly #announcer: Announcer;
  readonly #watch: ResourceWatch;
  readonly #recent = new RecentServers();
  readonly #warner = new Warner();
  #resolver: DpeResolver | undefined;
  readonly #events = new Emitter<ComputerEvents>(logThrown);
  #started: Promise<void> | undefined;
  #office: string | undefined;

  /**
   * Makes a Computer that is neither connected nor has started anything.
   *
   * @throws {ConfigError} that lists every mistake in `servers` and `inputs`
   * @throws {TypeError} when the URL can not be one of a Server
   */
  constructor(options: SmcpComputerOptions) {
    const {
      servers,
      inputs = [],
      inputValues = {},
      askInput,
      confirm,
      startTimeoutMs,
      restart,
      oauth,
      ...connection
    } = options;
    const config = parseComputerConfig({ inputs, servers }, "options");
    this.#name = options.name;
    this.#inputs = new InputStore(
      config.inputs,
      { values: inputValues, environment: process.env, ask: askInput },
      () => this.#configChanged(),
    );
    this.#confirmations = new Confirmations(confirm);
    this.#connection = new Connection(
      io,
      { ...connection, role: "computer" },
      logThrown,
    );
    this.#authorizations = oauth &&
      new Authorizations(oauth, () => this.#host.authorized());
    this.#host = new McpHost(config.servers, {
      connect: discreetConnect(
        (server, signal) =>
          connectMcp(server, signal, {
            authorizer: (name, url) =>
              this.#authorizations?.authorizer(name, url),
          }),
        () => [
          ...this.#inputs.secrets,
          ...this.#authorizations?.secrets ?? [],
        ],
      ),
      prepare: async (server, signal) => {
        await checkVrl(server.vrl);
        return await prepareConfig(server, this.#inputs, signal);
      },
      ...(startTimeoutMs !== undefined && { startTimeoutMs }),
      restart,
    });
    this.#announcer = new Announcer((event) => this.#announce(event));
    this.#watch = new ResourceWatch(
      this.#host,
      (...events) => this.#announcer.changed(...events),
    );
    this.#wire();
  }

  /** Its name in the office. */
  get name(): string {
    return this.#name;
  }

  /** The office that it is in, or comes back to after a reconnect. */
  get office(): string | undefined {
    return this.#connection.office;
  }

  /** The definitions of `${input:ID}` placeholders; values can be set, and are never shown. */
  get inputs(): ComputerInputs {
    return this.#inputs;
  }

  /** How it and its MCP servers are doing. */
  status(): ComputerStatus {
    const { office } = this.#connection;
    return {
      name: this.#name,
      connection: this.#connection.state,
      ...(office !== undefined && { office }),
      servers: this.#host.statuses,
      tools: this.#host.offers(),
      problems: [...this.#host.problems, ...this.#watch.clashes],
      runningCalls: this.#calls.running,
    };
  }

  /** Adds a listener; returns the function that takes it away. */
  on<E extends keyof ComputerEvents>(
    event: E,
    listener: Listener<ComputerEvents[E]>,
  ): () => void {
    return this.#events.on(event, listener);
  }

  /**
   * Connects to the Server, and starts the MCP servers without waiting for them.
   *
   * @throws {ProtocolVersionError} the Server speaks another version
   * @throws {ProtocolError} the Server refused for another reason
   * @throws {ConnectionError} `unreachable`
   */
  async connect(): Promise<void> {
    await this.#connection.connect();
    this.start();
  }

  /**
   * Starts the MCP servers without waiting for them, for use without a Server; `connect` starts
   * only what this has not.
   */
  start(): void {
    this.#started ??= this.#host.start();
  }

  /** Resolves when each MCP server that `connect` or `start` started runs or has failed. */
  async serversSettled(): Promise<void> {
    await this.#started;
  }

  /**
   * Answers a request as it would an Agent's of its office, for a person at this machine; a tool
   * call needs the same word as any other (spec §7).
   *
   * @param request without the name of the caller and the target
   * @param signal cancels a tool call, which is answered as cancelled then
   * @throws {ProtocolError} what an Agent would be answered
   */
  async answer<E extends ClientEvent>(
    event: E,
    request: Omit<ClientEvents[E]["request"], keyof AgentCallData | "computer">,
    signal?: AbortSignal,
  ): Promise<ClientEvents[E]["answer"]> {
    const call: AgentCallData = {
      agent: this.#name,
      req_id: crypto.randomUUID(),
    };
    const cancel = () => this.#calls.cancel(call);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return CLIENT_EVENTS[event].parseAnswer(
        await this.#answer(event, {
          ...request,
          ...call,
          computer: this.#name,
        }),
      );
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** Tells the office that everything may have changed: configuration, tools, desktop, documents. */
  announce(): void {
    this.#announcer.changed(
      UPDATE_CONFIG_EVENT,
      UPDATE_TOOL_LIST_EVENT,
      UPDATE_DESKTOP_EVENT,
      UPDATE_FINDER_EVENT,
    );
  }

  /**
   * Joins an office, and joins it again after each reconnect (spec §5, §9).
   *
   * @throws {ConnectionError} `refused` with the Server's reason, `offline`, `lost` or `timeout`
   */
  join(office: string): Promise<void> {
    return this.#connection.join(office);
  }

  /**
   * Leaves the office; calls that run there are given up.
   *
   * @throws {ConnectionError} `lost` or `timeout`
   */
  async leave(): Promise<void> {
    this.#moveTo(undefined);
    await this.#connection.leave();
  }

  /**
   * Adds a MCP server and starts it; resolves when it runs or has failed.
   *
   * @throws {ConfigError} that lists every mistake
   * @throws {TypeError} when there is one of that name
   */
  async addServer(name: string, settings: ServerSettings): Promise<void> {
    await this.#host.addServer(await readServerConfig(name, settings));
  }

  /**
   * Replaces a MCP server; calls that run on the old one fail, those on others go on.
   *
   * @throws {ConfigError} that lists every mistake; the old one stays
   * @throws {TypeError} when there is none of that name
   */
  async updateServer(name: string, settings: ServerSettings): Promise<void> {
    await this.#host.updateServer(await readServerConfig(name, settings));
  }

  /**
   * Stops a MCP server and forgets it.
   *
   * @throws {TypeError} when there is none of that name
   */
  async removeServer(name: string): Promise<void> {
    await this.#host.removeServer(name);
  }

  /**
   * Takes another configuration: servers that differ are replaced, all others go on untouched.
   *
   * Resolves when each server that was added or replaced runs or has failed.
   *
   * @param config read already, such as by `loadComputerConfig`
   * @returns what changed
   */
  async configure(config: ComputerConfig): Promise<ConfigChanges> {
    const changes = diffConfigs(
      { inputs: this.#inputs.definitions, servers: this.#host.configs },
      config,
    );
    this.#inputs.replace(config.inputs);
    await Promise.all([
      ...changes.remove.map((name) => this.#host.removeServer(name)),
      ...changes.update.map((server) => this.#host.updateServer(server)),
      ...changes.add.map((server) => this.#host.addServer(server)),
    ]);
    return changes;
  }

  /**
   * Starts a MCP server that is stopped or failed; resolves when it runs or has failed.
   *
   * A person who refused to authorize the Computer is asked again.
   *
   * @throws {TypeError} when there is none of that name
   */
  async startServer(name: string): Promise<void> {
    this.#authorizations?.askAgain();
    await this.#host.startServer(name);
  }

  /**
   * Stops a MCP server and everything that it started.
   *
   * @throws {TypeError} when there is none of that name
   */
  async stopServer(name: string): Promise<void> {
    await this.#host.stopServer(name);
  }

  /**
   * Sets who publishes documents for Agents; without one `client:get_dpe` answers 4011 (spec §8.3).
   *
   * Ready made: `localDirResolver` and `s3Resolver`.
   */
  registerDpeResolver(resolver: DpeResolver): void {
    this.#resolver = resolver;
  }

  /** Leaves, disconnects and stops every MCP server; nothing that they started is left. */
  async close(): Promise<void> {
    this.#inputs.close();
    this.#authorizations?.close();
    this.#watch.close();
    this.#announcer.close();
    this.#moveTo(undefined);
    await Promise.all([this.#connection.close(), this.#host.close()]);
    this.#announcer.close(); // servers that stopped meanwhile
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #wire(): void {
    const forward = <E extends keyof ComputerEvents>(event: E) =>
    (
      value: ComputerEvents[E],
    ) => this.#events.emit(event, value);
    const connection = this.#connection;
    connection.on("connected", forward("connected"));
    connection.on("disconnected", forward("disconnected"));
    connection.on("rejoin_failed", forward("rejoin_failed"));
    connection.on("refused", forward("refused"));
    connection.on("joined", (joined) => {
      this.#moveTo(joined.office);
      this.#announcer.changed(UPDATE_CONFIG_EVENT, UPDATE_TOOL_LIST_EVENT);
      // What was announced meanwhile reached nobody.
      if (joined.rejoined) {
        this.#announcer.changed(UPDATE_DESKTOP_EVENT, UPDATE_FINDER_EVENT);
      }
      this.#events.emit("joined", joined);
    });
    connection.on("notification", ({ event, payload }) => {
      if (event === CANCEL_TOOL_CALL_NOTIFICATION) this.#calls.cancel(payload);
    });
    connection.onRequest((event, payload) => this.#answer(event, payload));
    this.#host.on("server_state", forward("server_state"));
    this.#host.on("tools_changed", () => {
      this.#announcer.changed(UPDATE_TOOL_LIST_EVENT);
      this.#events.emit("tools_changed", undefined);
    });
    this.#host.on("config_changed", () => this.#configChanged());
  }

  #answer(event: string, payload: unknown): Promise<unknown> {
    return answerRequest(event, payload, {
      host: this.#host,
      inputs: this.#inputs.definitions,
      confirmations: this.#confirmations,
      calls: this.#calls,
      watch: this.#watch,
      recent: this.#recent,
      warner: this.#warner,
      resolver: this.#resolver,
      maxPayload: this.#connection.maxPayload,
      onCall: (call) => this.#observeCall(call),
    });
  }

  #configChanged(): void {
    this.#announcer.changed(UPDATE_CONFIG_EVENT);
    this.#events.emit("config_changed", undefined);
  }

  #observeCall(call: ToolCallStarted): (result?: CallToolResult) => void {
    const start = performance.now();
    this.#events.emit("call_started", call);
    return (result) =>
      this.#events.emit("call_ended", {
        ...call,
        milliseconds: performance.now() - start,
        ...(result && { result }),
      });
  }

  #announce(event: ServerEvent): void {
    if (this.#connection.joined) {
      this.#connection.send(event, { computer: this.#name });
    }
  }

  /** Calls belong to an office; a rejoin of the same one keeps them (spec §7.4). */
  #moveTo(office: string | undefined): void {
    if (office !== this.#office) {
      this.#calls.clear();
      this.#recent.clear();
    }
    this.#office = office;
  }
}

const logThrown = (error: unknown): void =>
  log.error("A listener or handler failed: {reason}", {
    reason: reasonOf(error),
  });
