import { Connection } from "../client/connection.ts";
import type { ConnectionOptions } from "../client/options.ts";
import type { Listener } from "../client/emitter.ts";
import type {
  AgentCallData,
  ClientEvent,
  ClientEvents,
} from "../protocol/mod.ts";
import { Announcer } from "./requests/announcer.ts";
import type { ConfigChanges } from "./config/diff_configs.ts";
import type { ComputerConfig } from "./config/parse_config.ts";
import type { ServerSettings } from "./config/settings.ts";
import type { DpeResolver } from "./resources/dpe/resolver.ts";
import type { ComputerInputs } from "./config/inputs/input_store.ts";
import { logThrown, warnOfClearText } from "./util/log.ts";
import type { ComputerStatus, SmcpComputerOptions } from "./options.ts";
import type { ComputerEvents } from "./requests/computer_events.ts";
import {
  forwardConnectionEvents,
  type ForwardTargets,
} from "./requests/forward_events.ts";
import { ToolHost } from "./tool_host.ts";

/**
 * A Computer: hosts MCP servers and offers their tools to the Agent of its office (spec §1).
 *
 * The MCP servers start once it is connected, all at once, and nothing waits for them: what is
 * ready is offered, the rest follows. After a lost connection the Computer comes back by itself,
 * into its office too.
 */
export class SmcpComputer implements AsyncDisposable {
  #options: ConnectionOptions & { role: "computer" };
  #connection: Connection;
  readonly #tools: ToolHost;
  readonly #announcer: Announcer;
  readonly #wired: ForwardTargets;

  /**
   * Makes a Computer that is neither connected nor has started anything.
   *
   * @throws {ConfigError} that lists every mistake in `servers` and `inputs`
   * @throws {TypeError} when the URL cannot be one of a Server, `tls` not be used, or `maxMessageBytes` is
   * no limit
   */
  constructor(options: SmcpComputerOptions) {
    this.#options = { ...options, role: "computer" };
    this.#connection = new Connection(this.#options, logThrown);
    const announcer = new Announcer((event) => {
      if (!this.#connection.joined) return;
      this.#connection.send(event, { computer: this.name });
    });
    this.#announcer = announcer;
    this.#tools = new ToolHost(options, {
      changed: (...events) => announcer.changed(...events),
      maxPayload: () => this.#connection.maxPayload,
    });
    const { events, answers } = this.#tools;
    this.#wired = { events, announcer, answers };
    forwardConnectionEvents(this.#connection, this.#wired);
  }

  /** Its name in the office. */
  get name(): string {
    return this.#options.name;
  }

  /** Address of its Server. */
  get url(): string {
    return this.#options.url;
  }

  /** The office that it is in, or comes back to after a reconnect. */
  get office(): string | undefined {
    return this.#connection.office;
  }

  /** The definitions of `${input:ID}` placeholders; values can be set, and are never shown. */
  get inputs(): ComputerInputs {
    return this.#tools.hosting.inputs;
  }

  /** How it and its MCP servers are doing. */
  status(): ComputerStatus {
    const { office } = this.#connection;
    return {
      name: this.name,
      connection: this.#connection.state,
      ...(office !== undefined && { office }),
      ...this.#tools.status(),
    };
  }

  /** Adds a listener of {@linkcode ComputerEvents}; returns the function that takes it away. */
  on<E extends keyof ComputerEvents>(
    event: E,
    listener: Listener<ComputerEvents[E]>,
  ): () => void {
    return this.#tools.events.on(event, listener);
  }

  /**
   * Connects to the Server, and starts the MCP servers then, without waiting for them.
   *
   * One attempt, for all who call meanwhile; after one that failed it may be called again.
   *
   * @throws {ProtocolVersionError} the Server speaks another version
   * @throws {ProtocolError} the Server refused for another reason
   * @throws {ConnectionError} `unreachable`, `tls` or `closed`
   */
  async connect(): Promise<void> {
    warnOfClearText(this.#options);
    await this.#connection.connect();
    this.start();
  }

  /**
   * Starts the MCP servers without waiting for them, for use without a Server; `connect` starts
   * only what this has not.
   */
  start(): void {
    this.#tools.hosting.start();
  }

  /** Resolves when each MCP server that `connect` or `start` started runs or has failed. */
  serversSettled(): Promise<void> {
    return this.#tools.hosting.settled();
  }

  /**
   * Answers a request as it would an Agent's of its office, for a person at this machine; a tool
   * call needs the same word as any other (spec §7).
   *
   * @param request without the name of the caller and the target
   * @param signal cancels a tool call, which is answered as cancelled then
   * @throws {ProtocolError} what an Agent would be answered
   */
  answer<E extends ClientEvent>(
    event: E,
    request: Omit<ClientEvents[E]["request"], keyof AgentCallData | "computer">,
    signal?: AbortSignal,
  ): Promise<ClientEvents[E]["answer"]> {
    return this.#tools.answer(this.name, event, request, signal);
  }

  /** Tells the office that everything may have changed: configuration, tools, desktop, documents. */
  announce(): void {
    this.#announcer.all();
  }

  /**
   * Joins an office, out of the one that it was in, and again after each reconnect (spec §5, §9).
   *
   * @throws {ConnectionError} `refused` with the Server's reason, `offline`, `lost` or `timeout`
   */
  join(office: string): Promise<void> {
    return this.#connection.join(office);
  }

  /**
   * Leaves the office; resolves when its name is free. Calls that run there are given up.
   *
   * @throws {ConnectionError} `refused`: it is still there; `lost`, `timeout`: it is out anyway
   */
  async leave(): Promise<void> {
    this.#tools.answers.moveTo(undefined);
    const moved = () => this.#tools.answers.moveTo(this.#connection.office);
    await this.#connection.leave().finally(moved);
  }

  /**
   * Turns to another Server, or takes another name: leaves and disconnects, and the next `connect`
   * and `join` are those of the new one. The MCP servers run on.
   *
   * @param where what changes
   * @throws {TypeError} when the URL cannot be one of a Server; nothing changed then
   */
  async turnTo(where: { url?: string; name?: string }): Promise<void> {
    const options = { ...this.#options, ...where };
    const before = this.#connection;
    this.#connection = new Connection(options, logThrown);
    this.#options = options;
    this.#tools.answers.moveTo(undefined);
    forwardConnectionEvents(this.#connection, this.#wired);
    // Said rather than hung up on, so that the Server has a name free that is taken again at once.
    await before.leave().catch(() => {});
    await before.close();
  }

  /**
   * Adds an MCP server and starts it; resolves when it runs or has failed.
   *
   * @throws {ConfigError} that lists every mistake
   * @throws {TypeError} when there is one of that name
   */
  async addServer(name: string, settings: ServerSettings): Promise<void> {
    await this.#tools.hosting.add(name, settings);
  }

  /**
   * Replaces an MCP server; calls that run on the old one fail, those on others go on.
   *
   * @throws {ConfigError} that lists every mistake; the old one stays
   * @throws {TypeError} when there is none of that name
   */
  async updateServer(name: string, settings: ServerSettings): Promise<void> {
    await this.#tools.hosting.update(name, settings);
  }

  /**
   * Stops an MCP server and forgets it.
   *
   * @throws {TypeError} when there is none of that name
   */
  async removeServer(name: string): Promise<void> {
    await this.#tools.hosting.host.removeServer(name);
  }

  /**
   * Takes another configuration: servers that differ are replaced, all others go on untouched.
   *
   * Resolves when each server that was added or replaced runs or has failed.
   *
   * @param config read already, such as by `loadComputerConfig`
   * @returns what changed
   */
  configure(config: ComputerConfig): Promise<ConfigChanges> {
    return this.#tools.hosting.configure(config);
  }

  /**
   * Starts an MCP server that is stopped or failed; resolves when it runs or has failed.
   *
   * A person who refused to authorize the Computer is asked again.
   *
   * @throws {TypeError} when there is none of that name
   */
  async startServer(name: string): Promise<void> {
    await this.#tools.hosting.startServer(name);
  }

  /**
   * Stops an MCP server and everything that it started, until it is started again or replaced.
   *
   * @throws {TypeError} when there is none of that name
   */
  async stopServer(name: string): Promise<void> {
    await this.#tools.hosting.host.stopServer(name);
  }

  /**
   * Sets who publishes documents for Agents; without one `client:get_dpe` answers 4011 (spec §8.3).
   *
   * Ready made: `localDirResolver` and `s3Resolver`.
   */
  registerDpeResolver(resolver: DpeResolver): void {
    this.#tools.answers.resolver = resolver;
  }

  /**
   * Leaves, disconnects and stops every MCP server for good; nothing that they started is left, and
   * the name is free for the next one.
   */
  async close(): Promise<void> {
    this.#tools.leaveForGood();
    this.#announcer.close();
    await Promise.all([this.#connection.close(), this.#tools.close()]);
    this.#announcer.close(); // servers that stopped meanwhile
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
