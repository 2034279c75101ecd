import { Emitter } from "../client/emitter.ts";
import {
  type A2CSkillRef,
  type CallToolResult,
  type Desktop,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCES_EVENT,
  type GetComputerConfigRet,
  type GetDPERet,
  type GetFinderRet,
  type GetPromptRet,
  type GetResourcesRet,
  type Prompt,
  READ_RESOURCE_EVENT,
  type ResourceContents,
  type ServerEvent,
  type SMCPTool,
  TOOL_CALL_EVENT,
  UPDATE_CONFIG_EVENT,
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
import type { ComputerEvents, ToolHostEvents } from "./tools/events.ts";
import type { McpHost } from "./host/host.ts";
import {
  CALL_NAMES,
  type CallHostedToolOptions,
  FIND_NAMES,
  type FindDocumentsOptions,
  readSeconds,
  toSeconds,
} from "./requests/local_options.ts";
import { answerLocal } from "./requests/requests.ts";
import { MergedLists } from "./requests/merged_lists.ts";
import type { ToolHostParts } from "./requests/parts.ts";
import type { DpeResolver } from "./resources/dpe.ts";
import { WatchedUris } from "./resources/watched_uris.ts";
import { ResourceWatch } from "./resources/resource_watch.ts";
import { SKILL_KIND, skillBlobs, Skills } from "./skills/skills.ts";
import type { PermissionList } from "./rules/permissions.ts";
import type { ShownRule } from "./rules/rules.ts";
import { hideSecrets } from "./util/secrets.ts";
import { logThrown, WarnOnce } from "./util/log.ts";
import { checkNames, checkNumbers, type NamesOf } from "../shared/checks.ts";
import { ToolCalls } from "./tools/tool_calls.ts";
import {
  TOOL_HOST_NAMES,
  type ToolHostOptions,
  type ToolHostStatus,
} from "./options.ts";

type DesktopNames = NamesOf<Parameters<ToolHost["getDesktop"]>[0]>;
const DESKTOP_NAMES: DesktopNames = { size: true, window: true };

type PromptNames = NamesOf<Parameters<ToolHost["getPrompt"]>[2]>;
const PROMPT_NAMES: PromptNames = { arguments: true, timeoutMs: true };

/** Opens a host for the rest of the Computer; not exported from the package. */
export let partsOf: (host: ToolHost) => ToolHostParts;

/**
 * Hosts MCP servers, and offers their tools, windows and documents to this process.
 * A {@linkcode SmcpComputer} adds a Server; this is for an Agent in the same process, and for tests.
 */
export class ToolHost implements AsyncDisposable {
  readonly #parts: ToolHostParts;

  static {
    partsOf = (host) => host.#parts;
  }

  /**
   * Creates a host that has started nothing.
   *
   * @throws {ConfigError} that lists every mistake in `servers` and `inputs`
   * @throws {TypeError} when `maxMessageBytes`, or a number in `uploads` or `blobStore`, is no limit
   */
  constructor(options: ToolHostOptions) {
    checkNames(options, TOOL_HOST_NAMES, "ToolHost");
    const { servers, inputs = [], rules = [], ...asking } = checked(options);
    const { confirm, allowAsked, elicit } = asking;
    const config = parseOptions({ inputs, servers, rules });
    const blobs = new BlobExchange(options);
    const events = new Emitter<ComputerEvents>(logThrown);
    const office = () => this.#parts.office;
    const changed = (...what: ServerEvent[]) => office()?.changed(...what);
    const configChanged = () => {
      changed(UPDATE_CONFIG_EVENT, UPDATE_TOOL_LIST_EVENT);
      events.emit("configChanged", undefined);
    };
    const canAsk = () => elicit !== undefined || office() !== undefined;
    const hosting = new Hosting(config, options, configChanged, canAsk);
    const { host } = hosting;
    const watch = new ResourceWatch(host, changed);
    const skillsChanged = () => {
      changed(UPDATE_SKILLS_EVENT);
      events.emit("skillsChanged", undefined);
    };
    const home = options.skillHome;
    const skills = new Skills({ home, host, changed: skillsChanged });
    blobs.resolves(SKILL_KIND, skillBlobs(skills));
    this.#parts = {
      hosting,
      events,
      calls: new ToolCalls(host, events, {
        confirm,
        allowAsked,
        elicit,
        blobs: blobs.store,
        place: () => office()?.name ?? "the Computer",
        rules: config.rules,
        store: options.permissions,
        servers: () => host.configs,
        changed: () => events.emit("permissionsChanged", undefined),
      }),
      watch,
      watched: new WatchedUris(host, (resource) => office()?.updated(resource)),
      blobs,
      skills,
      lists: new MergedLists(() => events.emit("problemsChanged", undefined)),
      warnOnce: new WarnOnce(),
      resolver: undefined,
      office: undefined,
    };
    this.#announce(changed, configChanged);
  }

  /** Announces changes of the MCP servers, to the office and to listeners. */
  #announce(
    changed: (...what: ServerEvent[]) => void,
    configChanged: () => void,
  ): void {
    const { events, hosting: { host } } = this.#parts;
    const office = () => this.#parts.office;
    const starting = new Set<string>();
    host.on("serverState", (status) => {
      if (status.state === "starting") starting.add(status.bundleId);
      // An Agent that waits for its tools goes on, also if there are none.
      else if (starting.delete(status.bundleId)) {
        changed(UPDATE_TOOL_LIST_EVENT);
      }
      events.emit("serverState", status);
    });
    host.on("toolsChanged", () => {
      changed(UPDATE_TOOL_LIST_EVENT);
      events.emit("toolsChanged", undefined);
    });
    host.on("configChanged", configChanged);
    host.on("resourcesChanged", () => office()?.listChanged("resources"));
    host.on("promptsChanged", () => office()?.listChanged("prompts"));
  }

  /** The definitions of `${input:ID}` placeholders; values can be set, and are never shown. */
  get inputs(): ComputerInputs {
    return this.#parts.hosting.inputs;
  }

  /** The rules that decide on tool calls, in the order in which they are applied; the first that matches does. */
  get rules(): readonly ShownRule[] {
    return this.#parts.calls.confirmations.rules;
  }

  /** What was allowed for later calls, too. */
  get permissions(): PermissionList {
    return this.#parts.calls.confirmations.permissions;
  }

  /** Returns the status of the MCP servers. */
  status(): ToolHostStatus {
    const { hosting: { host }, watch, skills, calls, lists } = this.#parts;
    const problems = [
      ...host.problems,
      ...calls.confirmations.problems(host.views),
      ...watch.clashes,
      ...skills.problems,
      ...lists.problems,
    ];
    return {
      servers: host.statuses,
      tools: host.offers(),
      skills: skills.known.map(({ name }) => name),
      problems: problems.map(hideSecrets),
      runningCalls: calls.running,
    };
  }

  /** Adds a listener; returns the function that removes it. */
  on<E extends keyof ToolHostEvents>(
    event: E,
    listener: (value: ToolHostEvents[E]) => unknown,
  ): () => void {
    return this.#parts.events.on(event, listener);
  }

  /**
   * Starts the MCP servers in parallel; resolves when each runs or has failed.
   * Never rejects: {@linkcode status} has the outcome. A tool can be called as soon as its own
   * MCP server runs.
   */
  async start(): Promise<void> {
    const { hosting, blobs, skills, calls } = this.#parts;
    await Promise.all([
      hosting.start(),
      blobs.start(),
      skills.start(),
      calls.confirmations.ready(),
    ]);
  }

  /** Lists the tools that can be called right now. */
  listTools(): SMCPTool[] {
    return this.#host.tools();
  }

  /**
   * Calls a tool by the name that {@linkcode listTools} gives it, or by that of other versions, where it is unique.
   * A tool without `auto_apply` needs confirmation, as it does when an Agent calls it from afar.
   * Every end of a call is a result: failures, refusals, timeouts and cancellations have `isError`
   * and a code, which `resultMeta` reads.
   *
   * @throws {TypeError} when `timeoutMs` is out of range
   * @throws {ProtocolError} when the call is invalid
   */
  async callTool(
    tool: string,
    params: Record<string, unknown> = {},
    options: CallHostedToolOptions = {},
  ): Promise<CallToolResult> {
    checkNames(options, CALL_NAMES, "callTool()");
    const { timeoutMs = 60_000, onProgress } = options;
    return await answerLocal(this.#parts, TOOL_CALL_EVENT, {
      tool_name: this.#host.nameToCall(tool),
      params,
      timeout: toSeconds(timeoutMs),
      ...(onProgress && { progress: true as const }),
    }, options);
  }

  /** Shows the configuration without secrets, as Agents see it. */
  getConfig(): GetComputerConfigRet {
    const { host, inputs } = this.#parts.hosting;
    return redactConfig(host.configs, inputs.definitions, host.names);
  }

  /**
   * Renders the windows of all MCP servers, most relevant first.
   *
   * @param options `size`: how many at most; `window`: only the one with exactly this URI
   */
  async getDesktop(
    options: { size?: number; window?: string } = {},
  ): Promise<Desktop[]> {
    checkNames(options, DESKTOP_NAMES, "getDesktop()");
    const { size, window } = options;
    checkNumbers({ size });
    const { desktops } = await answerLocal(this.#parts, GET_DESKTOP_EVENT, {
      ...(size !== undefined && { desktop_size: size }),
      ...(window !== undefined && { window }),
    });
    return desktops;
  }

  /** Lists the skills, as they are now (protocol §8.6). */
  getSkills(): Promise<A2CSkillRef[]> {
    return this.#parts.skills.list();
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
    return await answerLocal(this.#parts, GET_RESOURCES_EVENT, {
      mcp_server: this.#host.names.addressMeant(mcpServer),
      ...(cursor !== undefined && { cursor }),
    });
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
    const timeout = readSeconds(options, "readResource()");
    const { contents } = await answerLocal(this.#parts, READ_RESOURCE_EVENT, {
      mcp_server: this.#host.names.addressMeant(mcpServer),
      uri,
      timeout,
    });
    return contents;
  }

  /**
   * Lists the prompts of all running MCP servers.
   *
   * @param options `timeoutMs`: in whole seconds; default 30,000
   * @throws {TypeError} when `timeoutMs` is out of range
   */
  async getPrompts(
    options: { timeoutMs?: number } = {},
  ): Promise<Prompt[]> {
    const asked = { timeout: readSeconds(options, "getPrompts()") };
    return (await answerLocal(this.#parts, GET_PROMPTS_EVENT, asked)).prompts;
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
    const timeout = readSeconds(options, "getPrompt()", PROMPT_NAMES);
    return await answerLocal(this.#parts, GET_PROMPT_EVENT, {
      mcp_server: this.#host.names.addressMeant(mcpServer),
      name,
      arguments: options.arguments ?? {},
      timeout,
    });
  }

  /**
   * Searches the documents of all MCP servers.
   *
   * @throws {ProtocolError} when `offset` or `limit` is out of range
   */
  async getFinder(options: FindDocumentsOptions = {}): Promise<GetFinderRet> {
    checkNames(options, FIND_NAMES, "getFinder()");
    const { fileType, ...query } = options;
    checkNumbers({ offset: query.offset, limit: query.limit });
    return await answerLocal(this.#parts, GET_FINDER_EVENT, {
      ...query,
      ...(fileType !== undefined && { file_type: fileType }),
    });
  }

  /**
   * Publishes a document with the resolver of {@linkcode registerDpeResolver}.
   *
   * @param uri its `dpe://` URI
   * @param options `timeoutMs`: for reading and publishing it, in whole seconds; default 30,000
   * @throws {TypeError} when `timeoutMs` is out of range
   * @throws {ProtocolError} 4011 to 4015: why it cannot be published
   */
  async getDpe(
    uri: string,
    options: { timeoutMs?: number } = {},
  ): Promise<GetDPERet> {
    const timeout = readSeconds(options, "getDpe()");
    return await answerLocal(this.#parts, GET_DPE_EVENT, { uri, timeout });
  }

  /**
   * Adds an MCP server and starts it; resolves when it runs or has failed.
   * It replaces one of another name that has the same `bundle_id`.
   *
   * @throws {ConfigError} that lists every mistake
   * @throws {TypeError} when there is one of that name
   */
  async addServer(name: string, settings: ServerSettings): Promise<void> {
    await this.#parts.hosting.add(name, settings);
  }

  /**
   * Replaces an MCP server; calls that run on the old one fail, those on others go on.
   *
   * @param name its name, or its `bundle_id`; the new one has the same name
   * @throws {ConfigError} that lists every mistake; the old one stays
   * @throws {TypeError} when there is none of that name, or the new `bundle_id` is that of a third
   */
  async updateServer(name: string, settings: ServerSettings): Promise<void> {
    await this.#parts.hosting.update(name, settings);
  }

  /**
   * Stops an MCP server and forgets it.
   *
   * @throws {TypeError} when there is none of that name
   */
  async removeServer(name: string): Promise<void> {
    await this.#host.removeServer(this.#host.names.find(name).bundleId);
  }

  /**
   * Takes another configuration: its rules first, where it has some; then servers that differ are replaced,
   * and all others go on untouched. Resolves when each server that was added or replaced runs or has failed.
   *
   * @param config read already, such as by `loadComputerConfig`
   * @returns what changed
   */
  configure(config: ComputerConfig): Promise<ConfigChanges> {
    // Before the servers: none of them offers a tool under the rules of another configuration.
    // As a copy: rules are made ready once, and a program may change its list and configure that again.
    const { rules } = config;
    if (rules) {
      this.#parts.calls.confirmations.configure(structuredClone(rules));
    }
    return this.#parts.hosting.configure(config);
  }

  /**
   * Starts an MCP server that is stopped or failed; resolves when it runs or has failed.
   * A person who refused to authorize the host is asked again.
   *
   * @throws {TypeError} when there is none of that name
   */
  async startServer(name: string): Promise<void> {
    const { bundleId } = this.#host.names.find(name);
    await this.#parts.hosting.startServer(bundleId);
  }

  /**
   * Stops an MCP server and everything that it started, until it is started again or replaced.
   *
   * @throws {TypeError} when there is none of that name
   */
  async stopServer(name: string): Promise<void> {
    await this.#host.stopServer(this.#host.names.find(name).bundleId);
  }

  /** Sets who publishes documents; ready made are `localDirResolver` and `s3Resolver`. */
  registerDpeResolver(resolver: DpeResolver): void {
    this.#parts.resolver = resolver;
  }

  /** Aborts running calls and stops every MCP server for good; nothing that they started is left. */
  async close(): Promise<void> {
    const { hosting, calls, watch, watched, blobs, skills, office } =
      this.#parts;
    watch.close();
    watched.clear();
    office?.moveTo(undefined);
    calls.release();
    await Promise.all([hosting.close(), blobs.close(), skills.close()]);
  }

  /** Closes it, at the end of an `await using` scope. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #host(): McpHost {
    return this.#parts.hosting.host;
  }
}

/** Checks the callbacks, which JavaScript does not. @throws {TypeError} that names the one that is none */
function checked(options: ToolHostOptions): ToolHostOptions {
  for (const name of ["confirm", "allowAsked", "elicit", "askInput"] as const) {
    const callback: unknown = Object(options)[name];
    if (callback === undefined || typeof callback === "function") continue;
    throw new TypeError(`Cannot use the option ${name}: expected a function`);
  }
  return options ?? {};
}
