import { Connection } from "../client/connection.ts";
import { Emitter } from "../client/emitter.ts";
import type { ClientProtocol, ConnectionState } from "../client/options.ts";
import type * as wire from "../protocol/mod.ts";
import { checkNames } from "../shared/checks.ts";
import { type FileToPut, type PutFile, putFile } from "./put_file.ts";
import { getFile, type GotFile } from "./files.ts";
import { openBlob } from "./blobs.ts";
import { type CallOffice, callTool } from "./call_tool.ts";
import { findTool, type FoundTool, type ToolCatalogue } from "./tools.ts";
import { type OpenDocument, openDocument } from "./document.ts";
import { type AgentEvents, logThrown, warnOf } from "./events.ts";
import { followDesktop, forwardOfficeEvents } from "./events.ts";
import * as queries from "./queries.ts";
import * as ask from "./options.ts";
import { keepRequests, Requests } from "./requests.ts";
import { type SkillFile, skillFile } from "./skills.ts";

/**
 * An Agent: joins one office and uses the Computers in it (protocol §1, §9).
 *
 * Every request may throw, besides what its own description lists:
 *
 * - `ProtocolError`: an error of the Server or the Computer, such as 404 (the Computer is not or no longer
 *   in the office), 4103 (not in an office), 408 (no answer), 400 (invalid request or answer),
 *   429 (over a limit; a request that did not run is repeated until its timeout)
 * - `ConnectionError`: `offline`, `lost`, `timeout`, and `too_large`, for which nothing was sent
 * - `TypeError`: an option that is no number, such as `timeoutMs: "5"`
 * - the `reason` of the `signal`, as soon as it is aborted
 *
 * Failures of a tool are results with `isError` (protocol §6). After a lost connection the Agent
 * reconnects and rejoins its office; pending requests fail with `lost` and are not repeated.
 */
export class SmcpAgent implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #options: ask.SmcpAgentOptions;
  readonly #events = new Emitter<AgentEvents>(logThrown);
  readonly #catalogue: ToolCatalogue;
  readonly #requests: Requests;
  /** What calls need; made once, since a call passes few functions. */
  readonly #calls: CallOffice;
  /** Another object once the URIs that Computers have given are invalid (protocol §8.3). */
  #session = {};

  /**
   * Creates an Agent that is not connected.
   *
   * @throws {TypeError} when an option is invalid, which it names
   */
  constructor(options: ask.SmcpAgentOptions) {
    checkNames(options, ask.AGENT_NAMES, "SmcpAgent");
    this.#options = options;
    const signed = { ...options, role: "agent" } as const;
    const connection = this.#connection = new Connection(signed, logThrown);
    const events = this.#events;
    this.#requests = new Requests(connection, options);
    keepRequests(this, this.#requests);
    connection.on("disconnected", () => void (this.#session = {}));
    this.#catalogue = forwardOfficeEvents(connection, this.name, events, this);
    this.#calls = { requests: this.#requests, tools: this.tools };
  }

  /** The name that this Agent joins with. */
  get name(): string {
    return this.#options.name;
  }

  /** The office that this Agent is in, or rejoins after a reconnect. */
  get office(): string | undefined {
    return this.#connection.office;
  }

  /** The state of the connection. */
  get state(): ConnectionState {
    return this.#connection.state;
  }

  /** The protocol version of the connection, or of the next attempt: `0.2`, `0.3` or `0.4`. */
  get protocol(): ClientProtocol {
    return this.#connection.protocol;
  }

  /** The tools of each Computer in the office; a live view that is updated from the join on (protocol §9). */
  get tools(): ReadonlyMap<string, readonly wire.SMCPTool[]> {
    return this.#catalogue.byComputer;
  }

  /** Why tools of a Computer are missing in {@linkcode tools}, in sentences; absent where none is. */
  get toolProblems(): ReadonlyMap<string, readonly string[]> {
    return this.#catalogue.problems;
  }

  /**
   * How many MCP servers of a Computer start for the first time, whose tools may follow; absent for none,
   * and where the Computer does not report it.
   */
  get startingServers(): ReadonlyMap<string, number> {
    return this.#catalogue.starting;
  }

  /** Resolves once the tools of every known Computer are fetched, or failed to be. */
  toolsSettled(): Promise<void> {
    return this.#catalogue.settled();
  }

  /**
   * Finds a tool, and the Computer that offers it, once the tools of all are fetched.
   *
   * ```ts
   * import type { SmcpAgent } from "@a2c-smcp/sdk/agent";
   *
   * export async function echo(agent: SmcpAgent): Promise<void> {
   *   const { computer, tool } = await agent.findTool("echo");
   *   await agent.callTool(computer, tool.name, { message: "hello" });
   * }
   * ```
   *
   * @param name as {@linkcode tools} names it, or without the `bundle_id` that it begins with from 0.3
   * on, where that is unique
   * @throws {ToolLookupError} `not_found`, or `ambiguous`: several offer it, and `computer` chooses none
   */
  findTool(
    name: string,
    options: ask.FindToolOptions = {},
  ): Promise<FoundTool> {
    return findTool(this, name, options);
  }

  /** Adds a listener; returns the function that removes it. */
  on<E extends keyof AgentEvents>(
    event: E,
    listener: (value: AgentEvents[E]) => unknown,
  ): () => void {
    return this.#events.on(event, listener);
  }

  /**
   * Connects to the Server, and reconnects from then on (protocol §2, §9).
   *
   * Makes one attempt, shared by concurrent calls; after a failure it may be called again, after
   * `close` not.
   *
   * @throws {ProtocolVersionError} the Server speaks another version
   * @throws {ProtocolError} the Server refused the connection, such as 401
   * @throws {ConnectionError} `unreachable`, `tls` or `closed`
   */
  connect(): Promise<void> {
    warnOf(this.#options);
    return this.#connection.connect();
  }

  /**
   * Joins an office as its Agent, and rejoins it after each reconnect until `leave` (protocol §5, §9).
   *
   * @throws {TypeError} when no office can have that name
   * @throws {ConnectionError} `refused` with the Server's reason, such as "Room already has an
   * agent", or because an Agent can be in one office only; `offline`, `lost` or `timeout`
   */
  join(office: string): Promise<void> {
    return this.#connection.join(office);
  }

  /**
   * Leaves the office; resolves once the Server has freed the seat. Pending calls fail with 4103
   * (protocol §5).
   *
   * @throws {ConnectionError} `refused`: still in the office; `lost`, `timeout`: left nevertheless
   */
  leave(): Promise<void> {
    this.#session = {};
    const left = () => this.office ?? this.#catalogue.clear();
    return this.#connection.leave().finally(left);
  }

  /**
   * Leaves and disconnects permanently; pending calls fail with `lost`. Resolves when the seat is
   * free, or after a few seconds if the Server does not answer.
   */
  async close(): Promise<void> {
    await this.#connection.close();
    this.#events.clear();
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Runs a tool (protocol §7).
   *
   * Resolves with a result for success and for failures of the tool; read its metadata with
   * `resultMeta`. Large images and files, which Computers leave out, are fetched and put back (see
   * `blobs`); what cannot be fetched makes the result an error with the reason. After `timeoutMs` the call
   * is cancelled at the Computer and resolves with a timeout result. An aborted `signal` cancels and rejects.
   *
   * @param tool as {@linkcode tools} names it, or by its name of other versions, `read` for `files__read`
   * and the reverse, where one tool of the Computer has it, which takes a second request
   * @param params by the tool's `params_schema`
   */
  callTool(
    computer: string,
    tool: string,
    params: Record<string, unknown> = {},
    options: ask.CallToolOptions = {},
  ): Promise<wire.CallToolResult> {
    const call = { computer, tool_name: tool, params };
    return callTool(this.#calls, call, options);
  }

  /**
   * Cancels a running call by its `req_id`; it resolves with a "cancelled" result. Does nothing for
   * unknown and ended calls, and while offline (protocol §7).
   */
  cancel(reqId: string): void {
    this.#requests.cancel(reqId);
  }

  /** Fetches the tools of a Computer; {@linkcode tools} holds those already fetched. */
  getTools(
    computer: string,
    options: ask.AgentRequestOptions = {},
  ): Promise<wire.SMCPTool[]> {
    return queries.tools(this.#requests, computer, options);
  }

  /** Fetches the configuration of a Computer, without secrets (protocol §7). */
  getConfig(
    computer: string,
    options: ask.AgentRequestOptions = {},
  ): Promise<wire.GetComputerConfigRet> {
    return queries.config(this.#requests, computer, options);
  }

  /** Fetches the desktop: the windows of a Computer, rendered, most relevant first (protocol §8.1). */
  getDesktop(
    computer: string,
    options: ask.GetDesktopOptions = {},
  ): Promise<wire.Desktop[]> {
    return queries.desktop(this.#requests, computer, options);
  }

  /**
   * Yields the desktop now, and again after each change until the loop ends (protocol §8.1, §9).
   *
   * Throws if the first fetch fails; later it waits for a Computer that is away. Throws the reason of
   * an aborted `signal`.
   */
  followDesktop(
    computer: string,
    options: ask.GetDesktopOptions = {},
  ): AsyncGenerator<wire.Desktop[], void, void> {
    const fetch = () => this.getDesktop(computer, options);
    return followDesktop(computer, { fetch, on: this.on.bind(this) }, options);
  }

  /**
   * Fetches one page of an MCP server's resources; `next_cursor` leads to the next (protocol §8.2).
   *
   * @param mcpServer its name, from 0.3 on its `bundle_id`: the key in `getConfig().servers`
   */
  getResources(
    computer: string,
    mcpServer: string,
    options: ask.GetResourcesOptions = {},
  ): Promise<wire.GetResourcesRet> {
    return queries.resources(this.#requests, computer, mcpServer, options);
  }

  /** Iterates over all resources of an MCP server, fetching each page when it is needed (protocol §8.2). */
  allResources(
    computer: string,
    mcpServer: string,
    options: ask.AgentRequestOptions = {},
  ): AsyncGenerator<wire.Resource, void, void> {
    return queries.allResources(this.#requests, computer, mcpServer, options);
  }

  /**
   * Reads a resource of an MCP server: its contents, text or base64. Like prompts, templates, completions and
   * instructions an extension of this package: an older Server or Computer refuses it, or does not answer.
   *
   * @throws {ProtocolError} 404 or 4014 the MCP server is not there or does not run, 4015 it offers no resources, 400 it has no such one
   */
  readResource(
    computer: string,
    mcpServer: string,
    uri: string,
    options: ask.TimedRequestOptions = {},
  ): Promise<wire.ResourceContents[]> {
    const place = { computer, mcp_server: mcpServer, uri };
    return queries.readResource(this.#requests, place, options);
  }

  /**
   * Lets a Computer notify each change of a resource: as `updateResources`, at most ten times a second,
   * until this Agent or the Computer leaves, or with `stop` no more. An extension of this package, as for reading.
   *
   * @throws {ProtocolError} 404 the MCP server does not run, 4015 it offers no subscriptions, 400 it has no such resource
   */
  watchResource(
    computer: string,
    mcpServer: string,
    uri: string,
    options: ask.WatchResourceOptions = {},
  ): Promise<void> {
    const place = { computer, mcp_server: mcpServer, uri };
    return queries.watchResource(this.#requests, place, options);
  }

  /** Fetches the prompts of all running MCP servers of a Computer. */
  getPrompts(
    computer: string,
    options: ask.TimedRequestOptions = {},
  ): Promise<wire.Prompt[]> {
    return queries.prompts(this.#requests, computer, options);
  }

  /**
   * Fetches a prompt of an MCP server, filled in with `arguments`.
   *
   * @throws {ProtocolError} 404 or 4014 the MCP server is not there or does not run, 4015 it offers no prompts, 400 it has no such one
   */
  getPrompt(
    computer: string,
    mcpServer: string,
    name: string,
    options: ask.GetPromptOptions = {},
  ): Promise<wire.GetPromptRet> {
    const place = { computer, mcp_server: mcpServer, name };
    return queries.prompt(this.#requests, place, options);
  }

  /** Fetches the templates of URIs (RFC 6570) of all running MCP servers of a Computer, for {@linkcode readResource}. */
  getResourceTemplates(
    computer: string,
    options: ask.TimedRequestOptions = {},
  ): Promise<wire.ResourceTemplate[]> {
    return queries.resourceTemplates(this.#requests, computer, options);
  }

  /** Completes an argument of a prompt, or a variable of a template; 4015 where the MCP server completes nothing. */
  complete(
    computer: string,
    mcpServer: string,
    what: Pick<wire.CompleteReq, "ref" | "argument" | "context">,
    options: ask.TimedRequestOptions = {},
  ): Promise<wire.Completion> {
    const place = { computer, mcp_server: mcpServer, ...what };
    return queries.complete(this.#requests, place, options);
  }

  /** Fetches the instructions for models of all running MCP servers of a Computer that have some. */
  getInstructions(
    computer: string,
    options: ask.AgentRequestOptions = {},
  ): Promise<wire.ServerInstructions[]> {
    return queries.instructions(this.#requests, computer, options);
  }

  /** Fetches the skills of a Computer: names, descriptions and folders (protocol §8.6). */
  getSkills(
    computer: string,
    options: ask.AgentRequestOptions = {},
  ): Promise<wire.A2CSkillRef[]> {
    return queries.skills(this.#requests, computer, options);
  }

  /**
   * Opens a file of a skill: its `SKILL.md` without the front matter, or the one at `path`.
   *
   * @param name as {@linkcode getSkills} lists it
   * @throws {ProtocolError} 4014 there is no such skill, 4016 there cannot be one, 4017 the file is not
   * given out: its `details.reason` is `not_found`, `forbidden`, `traversal` or `too_large`
   */
  getSkill(
    computer: string,
    name: string,
    options: ask.GetSkillOptions = {},
  ): Promise<SkillFile> {
    return skillFile(this.#requests, computer, name, options);
  }

  /**
   * Opens bytes by the handle that an answer of the Computer gave; nothing is fetched before the
   * stream is read. Its SHA-256 is compared at the end: bytes are proven right when the stream ends
   * without an error, a {@linkcode BlobError}.
   */
  openBlob(
    computer: string,
    handle: string,
    options: ask.AgentRequestOptions = {},
  ): ReadableStream<Uint8Array> {
    checkNames(options, ask.REQUEST_NAMES, "openBlob()");
    const place = { requests: this.#requests, computer, handle };
    return openBlob(place, options.signal);
  }

  /**
   * Puts a file on a Computer whose owner gave it a folder for that, for the tools there (protocol §8.7).
   * A failed upload leaves nothing behind, and starts over when it is called again.
   *
   * @param file a path on this machine, or the bytes; not empty
   * @returns its path there
   * @throws {TypeError} it is empty, or bytes without the option `name`
   * @throws {ProtocolError} 4019: its `details.reason` is `forbidden`, `too_large`, `busy`, …
   * @throws {BlobError} `unsupported`: the Server or the Computer speaks no protocol 0.4
   */
  putFile(
    computer: string,
    file: FileToPut,
    options: ask.PutFileOptions = {},
  ): Promise<PutFile> {
    return putFile(this.#requests, computer, file, options);
  }

  /**
   * Fetches a file from a Computer: a resource of one of its MCP servers, such as the `uri` of a
   * `resource_link` in a result. An extension of this package, as {@linkcode readResource} is.
   * What is at the path is replaced when all bytes are there. In Deno and Node.
   *
   * @param path of the file on this machine
   * @throws {ProtocolError} 404 no MCP server has it; else as {@linkcode readResource}
   * @throws {BlobError} `invalid`: it is not one file
   * @throws {TypeError} it is a document (`dpe://`), or there is no file system
   * @throws the error of the file system, such as `ENOENT` for a folder that is not there
   */
  getFile(
    computer: string,
    uri: string,
    path: string,
    options: ask.GetFileOptions = {},
  ): Promise<GotFile> {
    const tools = this.tools.get(computer) ?? [];
    return getFile(this.#requests, { computer, uri, path }, tools, options);
  }

  /**
   * Turns a `dpe://` URI into one that can be fetched (protocol §8.3). Like the Finder an extension of this
   * package: a Computer of another SDK does not know it (400).
   *
   * @throws {ProtocolError} 4011 no resolver, 4012 not a DPE URI, 4013 could not be resolved
   */
  getDpe(
    computer: string,
    uri: string,
    options: ask.GetDpeOptions = {},
  ): Promise<wire.GetDPERet> {
    return queries.dpe(this.#requests, { computer, uri }, options);
  }

  /**
   * Opens a document: resolves its address and fetches it; pages are fetched when they are read
   * (protocol §8.3).
   *
   * ```ts
   * import type { SmcpAgent } from "@a2c-smcp/sdk/agent";
   *
   * export async function read(agent: SmcpAgent): Promise<string> {
   *   const { documents } = await agent.getFinder("laptop", { keywords: ["report"] });
   *   const document = await agent.openDocument("laptop", documents[0]?.uri ?? "");
   *   return await document.toMarkdown();
   * }
   * ```
   *
   * @param uri `dpe://HOST/DOC-REF`, as the Computer's Finder or resources list it
   * @throws {ProtocolError} as {@linkcode getDpe}; 4201 the document is not at the address that the Computer gave
   * @throws {DocumentError} it cannot be fetched, or is not a document
   */
  openDocument(
    computer: string,
    uri: string,
    options: ask.OpenDocumentOptions = {},
  ): Promise<OpenDocument> {
    const { documentHandlers: handlers } = this.#options;
    const place = { computer, uri, handlers, session: () => this.#session };
    return openDocument(this.#requests, place, options);
  }

  /** Searches the documents of a Computer (protocol §8.4); an extension of this package, as {@linkcode getDpe} is. */
  getFinder(
    computer: string,
    options: ask.GetFinderOptions = {},
  ): Promise<wire.GetFinderRet> {
    return queries.finder(this.#requests, computer, options);
  }

  /** Lists the members of the office, including this Agent (protocol §4). */
  listRoom(options: ask.AgentRequestOptions = {}): Promise<wire.SessionInfo[]> {
    return queries.members(this.#requests, this.office, options);
  }
}
