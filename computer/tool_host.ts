import { Emitter } from "../client/emitter.ts";
import {
  type A2CSkillRef,
  type CallToolResult,
  type Desktop,
  type GetComputerConfigRet,
  type GetDPERet,
  type GetFinderRet,
  type GetPromptRet,
  type GetResourcesRet,
  type Prompt,
  type ResourceContents,
  type ServerEvent,
  type SMCPTool,
  UPDATE_CONFIG_EVENT,
  UPDATE_RESOURCES_EVENT,
  UPDATE_SKILLS_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../protocol/mod.ts";
import { BlobExchange } from "./blobs/blobs.ts";
import type {
  ComputerConfig,
  ConfigChanges,
  ServerSettings,
} from "./config/config.ts";
import type { ComputerInputs } from "./config/input_store.ts";
import { parseOptions } from "./config/parse_config.ts";
import { redactConfig } from "./config/redact.ts";
import { Hosting } from "./host/hosting.ts";
import type { ToolHostOptions, ToolHostStatus } from "./options.ts";
import type { ComputerEvents, ToolHostEvents } from "./tools/events.ts";
import type { McpHost } from "./host/host.ts";
import {
  type CallHostedToolOptions,
  type FindDocumentsOptions,
  LocalRequests,
} from "./requests/local_requests.ts";
import {
  ComputerRequestHandler,
  type OfficeOutlet,
  type ToolHostParts,
} from "./requests/request_handler.ts";
import type { DpeResolver } from "./resources/dpe.ts";
import { WatchedUris } from "./resources/watched_uris.ts";
import { ResourceWatch } from "./resources/resource_watch.ts";
import { SKILL_KIND, skillBlobs, Skills } from "./skills/skills.ts";
import { hideSecrets } from "./util/secrets.ts";
import { logThrown } from "./util/log.ts";

let readParts: (host: ToolHost) => ToolHostParts;

/** Opens a host for the rest of the Computer; not exported from the package. */
export const partsOf = (host: ToolHost): ToolHostParts => readParts(host);

/** Checks the callbacks, which JavaScript does not. @throws {TypeError} that names the one that is none */
function checked(options: ToolHostOptions): ToolHostOptions {
  for (const name of ["confirm", "elicit", "askInput"] as const) {
    const callback: unknown = Object(options)[name];
    if (callback === undefined || typeof callback === "function") continue;
    throw new TypeError(`Cannot use the option ${name}: expected a function`);
  }
  return options ?? {};
}

/**
 * Hosts MCP servers, and offers their tools, windows and documents to this process.
 *
 * A {@linkcode SmcpComputer} is a tool host with a connection to a Server; this is one without,
 * for programs whose Agent runs in the same process, and for tests.
 */
export class ToolHost implements AsyncDisposable {
  readonly #hosting: Hosting;
  readonly #requests: ComputerRequestHandler;
  readonly #local: LocalRequests;
  readonly #watch: ResourceWatch;
  readonly #watched: WatchedUris;
  readonly #blobs: BlobExchange;
  readonly #skills: Skills;
  readonly #events = new Emitter<ComputerEvents>(logThrown);
  #office: OfficeOutlet | undefined;

  static {
    readParts = (host) => ({
      hosting: host.#hosting,
      skills: host.#skills,
      requests: host.#requests,
      events: host.#events,
      attach: (office) => host.#office = office,
    });
  }

  /**
   * Creates a host that has started nothing.
   *
   * @throws {ConfigError} that lists every mistake in `servers` and `inputs`
   * @throws {TypeError} when `maxMessageBytes`, or a number in `uploads` or `blobStore`, is no limit
   */
  constructor(options: ToolHostOptions) {
    const { servers, inputs = [], confirm, elicit } = checked(options);
    const config = parseOptions({ inputs, servers });
    this.#blobs = new BlobExchange(options);
    const changed = (...events: ServerEvent[]) =>
      this.#office?.changed(...events);
    const configChanged = () => {
      changed(UPDATE_CONFIG_EVENT, UPDATE_TOOL_LIST_EVENT);
      this.#events.emit("configChanged", undefined);
    };
    this.#hosting = new Hosting(
      config,
      options,
      configChanged,
      () => elicit !== undefined || this.#office !== undefined,
    );
    const { host } = this.#hosting;
    this.#watch = new ResourceWatch(host, changed);
    this.#skills = new Skills({
      home: options.skillHome,
      host,
      changed: () => {
        changed(UPDATE_SKILLS_EVENT);
        this.#events.emit("skillsChanged", undefined);
      },
    });
    this.#blobs.kinds.add(SKILL_KIND, skillBlobs(this.#skills));
    this.#watched = new WatchedUris(
      host,
      (changed) => this.#office?.updated(changed),
    );
    this.#requests = new ComputerRequestHandler({
      hosting: this.#hosting,
      watch: this.#watch,
      watched: this.#watched,
      blobs: this.#blobs,
      skills: this.#skills,
      confirm,
      elicit,
      events: this.#events,
      maxPayload: () => this.#office?.maxPayload,
      place: () => this.#office?.name ?? "the Computer",
      progressed: (progress) => this.#office?.progressed(progress),
    });
    this.#local = new LocalRequests(this.#requests);
    forwardHostEvents(host, this.#events, changed, configChanged);
  }

  /** The definitions of `${input:ID}` placeholders; values can be set, and are never shown. */
  get inputs(): ComputerInputs {
    return this.#hosting.inputs;
  }

  /** Tells how the MCP servers are doing. */
  status(): ToolHostStatus {
    const { host } = this.#hosting;
    return {
      servers: host.statuses,
      tools: host.offers(),
      skills: this.#skills.known.map(({ name }) => name),
      problems: [
        ...host.problems,
        ...this.#watch.clashes,
        ...this.#skills.problems,
      ].map(hideSecrets),
      runningCalls: this.#requests.running,
    };
  }

  /** Adds a listener; returns the function that removes it. */
  on<E extends keyof ToolHostEvents>(
    event: E,
    listener: (value: ToolHostEvents[E]) => unknown,
  ): () => void {
    return this.#events.on(event, listener);
  }

  /**
   * Starts the MCP servers, all at once; resolves when each runs or has failed.
   *
   * Never rejects: {@linkcode status} says how it went. A tool can be called as soon as its own
   * MCP server runs.
   */
  async start(): Promise<void> {
    await Promise.all([
      this.#hosting.start(),
      this.#blobs.start(),
      this.#skills.start(),
    ]);
  }

  /** Lists the tools that can be called right now. */
  listTools(): SMCPTool[] {
    return this.#hosting.host.tools();
  }

  /**
   * Calls a tool by the name that {@linkcode listTools} gives it.
   *
   * A tool without `auto_apply` needs confirmation, as it does when an Agent calls it from afar.
   * Every end of a call is a result: failures, refusals, timeouts and cancellations have `isError`
   * and a code, which `resultMeta` reads.
   *
   * @throws {TypeError} when `timeoutMs` is out of range
   * @throws {ProtocolError} when the call is invalid
   */
  callTool(
    tool: string,
    params: Record<string, unknown> = {},
    options: CallHostedToolOptions = {},
  ): Promise<CallToolResult> {
    return this.#local.callTool(tool, params, options);
  }

  /** Shows the configuration without secrets, as Agents see it. */
  getConfig(): GetComputerConfigRet {
    const { host, inputs } = this.#hosting;
    return redactConfig(host.configs, inputs.definitions, host.names);
  }

  /**
   * Renders the windows of all MCP servers, most relevant first.
   *
   * @param options `size`: how many at most; `window`: only the one with exactly this URI
   */
  getDesktop(
    options: { size?: number; window?: string } = {},
  ): Promise<Desktop[]> {
    return this.#local.getDesktop(options);
  }

  /** Lists the skills, as they are now (0.4 §6). */
  getSkills(): Promise<A2CSkillRef[]> {
    return this.#skills.list();
  }

  /**
   * Lists one page of the resources of an MCP server.
   *
   * @param mcpServer its name or its `bundle_id`, as everywhere here
   * @param cursor `next_cursor` of the previous page
   * @throws {ProtocolError} when it does not run, or offers no resources
   */
  async getResources(
    mcpServer: string,
    cursor?: string,
  ): Promise<GetResourcesRet> {
    return await this.#local.getResources(this.#addressOf(mcpServer), cursor);
  }

  /**
   * Reads a resource of an MCP server: its contents, text or base64.
   *
   * @param options `timeoutMs`: in whole seconds; default 30,000
   * @throws {TypeError} when `timeoutMs` is out of range
   * @throws {ProtocolError} when it does not run, offers no resources, or has no such one
   */
  async readResource(
    mcpServer: string,
    uri: string,
    options: { timeoutMs?: number } = {},
  ): Promise<ResourceContents[]> {
    return await this.#local.readResource(
      this.#addressOf(mcpServer),
      uri,
      options,
    );
  }

  /**
   * Lists the prompts of all running MCP servers.
   *
   * @param options `timeoutMs`: in whole seconds; default 30,000
   * @throws {TypeError} when `timeoutMs` is out of range
   */
  getPrompts(options: { timeoutMs?: number } = {}): Promise<Prompt[]> {
    return this.#local.getPrompts(options);
  }

  /**
   * Gets a prompt of an MCP server, filled in.
   *
   * @param options `arguments`: what with; `timeoutMs`: in whole seconds, default 30,000
   * @throws {TypeError} when `timeoutMs` is out of range
   * @throws {ProtocolError} when it does not run, offers no prompts, or has no such one
   */
  async getPrompt(
    mcpServer: string,
    name: string,
    options: { arguments?: Record<string, string>; timeoutMs?: number } = {},
  ): Promise<GetPromptRet> {
    const { arguments: params = {}, ...rest } = options;
    const address = this.#addressOf(mcpServer);
    return await this.#local.getPrompt(address, name, params, rest);
  }

  /**
   * Searches the documents of all MCP servers.
   *
   * @throws {ProtocolError} when `offset` or `limit` is out of range
   */
  getFinder(options: FindDocumentsOptions = {}): Promise<GetFinderRet> {
    return this.#local.getFinder(options);
  }

  /**
   * Publishes a document with the resolver of {@linkcode registerDpeResolver}.
   *
   * @param uri its `dpe://` URI
   * @param options `timeoutMs`: for reading and publishing it, in whole seconds; default 30,000
   * @throws {TypeError} when `timeoutMs` is out of range
   * @throws {ProtocolError} 4011 to 4015: why it cannot be published
   */
  getDpe(
    uri: string,
    options: { timeoutMs?: number } = {},
  ): Promise<GetDPERet> {
    return this.#local.getDpe(uri, options);
  }

  /**
   * Adds an MCP server and starts it; resolves when it runs or has failed.
   *
   * It replaces one of another name that has the same `bundle_id`.
   *
   * @throws {ConfigError} that lists every mistake
   * @throws {TypeError} when there is one of that name
   */
  async addServer(name: string, settings: ServerSettings): Promise<void> {
    await this.#hosting.add(name, settings);
  }

  /**
   * Replaces an MCP server; calls that run on the old one fail, those on others go on.
   *
   * @param name its name, or its `bundle_id`; the new one has the same name
   * @throws {ConfigError} that lists every mistake; the old one stays
   * @throws {TypeError} when there is none of that name, or the new `bundle_id` is that of a third
   */
  async updateServer(name: string, settings: ServerSettings): Promise<void> {
    await this.#hosting.update(name, settings);
  }

  /**
   * Stops an MCP server and forgets it.
   *
   * @throws {TypeError} when there is none of that name
   */
  async removeServer(name: string): Promise<void> {
    const { host } = this.#hosting;
    await host.removeServer(host.names.find(name).bundleId);
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
    return this.#hosting.configure(config);
  }

  /**
   * Starts an MCP server that is stopped or failed; resolves when it runs or has failed.
   *
   * A person who refused to authorize the host is asked again.
   *
   * @throws {TypeError} when there is none of that name
   */
  async startServer(name: string): Promise<void> {
    const { bundleId } = this.#hosting.host.names.find(name);
    await this.#hosting.startServer(bundleId);
  }

  /**
   * Stops an MCP server and everything that it started, until it is started again or replaced.
   *
   * @throws {TypeError} when there is none of that name
   */
  async stopServer(name: string): Promise<void> {
    const { host } = this.#hosting;
    await host.stopServer(host.names.find(name).bundleId);
  }

  /** Sets who publishes documents; ready made are `localDirResolver` and `s3Resolver`. */
  registerDpeResolver(resolver: DpeResolver): void {
    this.#requests.resolver = resolver;
  }

  #addressOf(nameOrId: string): string {
    return this.#hosting.host.names.addressMeant(nameOrId);
  }

  /** Gives up running calls and stops every MCP server for good; nothing that they started is left. */
  async close(): Promise<void> {
    this.#watch.close();
    this.#watched.clear();
    this.#requests.close();
    await Promise.all([
      this.#hosting.close(),
      this.#blobs.close(),
      this.#skills.close(),
    ]);
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Forwards events of the MCP servers.
 *
 * @param changed announces an event to the office
 * @param configChanged is called when servers were added, replaced or removed
 */
function forwardHostEvents(
  host: McpHost,
  events: Emitter<ComputerEvents>,
  changed: (event: ServerEvent) => void,
  configChanged: () => void,
): void {
  host.on("serverState", (status) => events.emit("serverState", status));
  host.on("toolsChanged", () => {
    changed(UPDATE_TOOL_LIST_EVENT);
    events.emit("toolsChanged", undefined);
  });
  host.on("configChanged", configChanged);
  host.on("resourcesChanged", () => changed(UPDATE_RESOURCES_EVENT));
  host.on("promptsChanged", () => changed(UPDATE_RESOURCES_EVENT));
}
