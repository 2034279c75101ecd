import { Connection } from "../client/connection.ts";
import { Emitter, type Listener } from "../client/emitter.ts";
import type { ConnectionState } from "../client/options.ts";
import {
  type CallToolResult,
  type Desktop,
  GET_CONFIG_EVENT,
  type GetComputerConfigRet,
  type GetDPERet,
  type GetFinderRet,
  type GetResourcesRet,
  type Resource,
  type SessionInfo,
  type SMCPTool,
} from "../protocol/mod.ts";
import { callTool } from "./tools/call_tool.ts";
import type { OpenDocument } from "./documents/document.ts";
import { openDocument } from "./documents/open_document.ts";
import type { AgentEvents } from "./office/events.ts";
import { followDesktop } from "./office/follow_desktop.ts";
import {
  requestAllResources,
  requestDesktop,
  requestDpe,
  requestFinder,
  requestMembers,
  requestResources,
  requestTools,
} from "./requests/queries.ts";
import { logThrown, warnOfClearText } from "./office/log.ts";
import type {
  AgentRequestOptions,
  CallToolOptions,
  GetDesktopOptions,
  GetDpeOptions,
  GetFinderOptions,
  GetResourcesOptions,
  OpenDocumentOptions,
} from "./requests/options.ts";
import type { SmcpAgentOptions } from "./options.ts";
import { Requests } from "./requests/requests.ts";
import type { ToolCatalogue } from "./tools/tool_catalogue.ts";
import { forwardOfficeEvents } from "./office/office_events.ts";

/**
 * An Agent: joins one office and uses the Computers in it (spec §1, §9).
 *
 * What every request may throw, beside what its own description adds:
 *
 * - `ProtocolError`: what the Server or the Computer answered, such as 404 (no such Computer in the
 *   office, or it vanished), 4103 (not in an office), 408 (no answer), 400 (a bad request or answer),
 *   429 (over a limit: what did not run is sent again until its time is up)
 * - `ConnectionError`: `offline`, `lost`, `timeout`, and `too_large`, of which nothing was sent
 * - the reason of its `signal`, as soon as that is aborted
 *
 * Failures of a tool are results with `isError` (spec §6). After a lost connection the Agent comes
 * back by itself, into its office too; what was on its way fails with `lost` and is not repeated.
 */
export class SmcpAgent implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #options: SmcpAgentOptions;
  readonly #events = new Emitter<AgentEvents>(logThrown);
  readonly #catalogue: ToolCatalogue;
  readonly #requests: Requests;
  /** Another one when URIs that a Computer gave must not be used any more (spec §8.3). */
  #session = {};

  /**
   * Makes an Agent that is not connected yet.
   *
   * @throws {TypeError} when `url` cannot be one of a Server, or `tls` not be used
   */
  constructor(options: SmcpAgentOptions) {
    this.#options = options;
    const signed = { ...options, role: "agent" } as const;
    const connection = this.#connection = new Connection(signed, logThrown);
    connection.on("disconnected", () => this.#session = {});
    this.#requests = new Requests(connection, options);
    this.#catalogue = forwardOfficeEvents(
      connection,
      options.name,
      this.#events,
    );
  }

  /** The name that this Agent joins with. */
  get name(): string {
    return this.#options.name;
  }

  /** The office that this Agent is in, or goes back to after a reconnect. */
  get office(): string | undefined {
    return this.#connection.office;
  }

  /** Where the connection stands. */
  get state(): ConnectionState {
    return this.#connection.state;
  }

  /** The tools by Computer of the office: a live view, kept up to date from the join on (spec §9). */
  get tools(): ReadonlyMap<string, readonly SMCPTool[]> {
    return this.#catalogue.byComputer;
  }

  /** Resolves once the tools of every Computer known so far are there, or could not be fetched. */
  toolsSettled(): Promise<void> {
    return this.#catalogue.settled();
  }

  /** Adds a listener; returns the function that removes it. */
  on<E extends keyof AgentEvents>(
    event: E,
    listener: Listener<AgentEvents[E]>,
  ): () => void {
    return this.#events.on(event, listener);
  }

  /**
   * Connects to the Server; from then on the connection is kept up (spec §2, §9).
   *
   * One attempt, for all who call meanwhile; after one that failed it may be called again.
   *
   * @throws {ProtocolVersionError} the Server speaks another version; no reconnect follows
   * @throws {ProtocolError} the Server refused, such as 401
   * @throws {ConnectionError} `unreachable`, `tls` or `closed`
   */
  connect(): Promise<void> {
    warnOfClearText(this.#options);
    return this.#connection.connect();
  }

  /**
   * Joins an office as its Agent, and again after each reconnect until `leave` (spec §5, §9).
   *
   * @throws {ConnectionError} `refused` with the Server's reason, such as "Room already has an
   * agent", or as an Agent is in one office at a time; `offline`, `lost` or `timeout`
   */
  join(office: string): Promise<void> {
    return this.#connection.join(office);
  }

  /**
   * Leaves the office; resolves when the Agent's seat is free. Pending calls fail with 4103 (spec §5).
   *
   * @throws {ConnectionError} `refused`: nothing changed; `lost`, `timeout`: left all the same
   */
  leave(): Promise<void> {
    this.#session = {};
    const left = () => this.office ?? this.#catalogue.clear();
    return this.#connection.leave().finally(left);
  }

  /**
   * Leaves and disconnects for good; pending calls fail with `lost`. Resolves when the seat is
   * free; with a Server that no longer answers, after a few seconds.
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
   * Runs a tool (spec §7).
   *
   * Resolves with a result for everything that the tool itself ends with; read its metadata
   * with `resultMeta`. After `timeout` seconds the call is cancelled at the Computer and
   * resolves with the timeout result. An aborted `signal` cancels it and rejects at once.
   *
   * @param tool as {@linkcode tools} names it
   * @param params as the tool's `params_schema` says
   */
  callTool(
    computer: string,
    tool: string,
    params: Record<string, unknown> = {},
    options: CallToolOptions = {},
  ): Promise<CallToolResult> {
    const call = { computer, tool_name: tool, params };
    return callTool(this.#requests, call, options);
  }

  /**
   * Cancels a running call by its `req_id`: it resolves with the result of a cancelled call. Unknown
   * and finished ones are ignored, and all while offline (spec §7).
   */
  cancel(reqId: string): void {
    this.#requests.cancel(reqId);
  }

  /** Fetches the tools of a Computer; {@linkcode tools} has those that were fetched already. */
  getTools(
    computer: string,
    options: AgentRequestOptions = {},
  ): Promise<SMCPTool[]> {
    return requestTools(this.#requests, computer, options);
  }

  /** Fetches the configuration of a Computer, without secrets (spec §7). */
  getConfig(
    computer: string,
    { signal }: AgentRequestOptions = {},
  ): Promise<GetComputerConfigRet> {
    return this.#requests.ask(GET_CONFIG_EVENT, { computer }, signal);
  }

  /** Fetches the desktop: the windows of a Computer, rendered, most relevant first (spec §8.1). */
  getDesktop(
    computer: string,
    options: GetDesktopOptions = {},
  ): Promise<Desktop[]> {
    return requestDesktop(this.#requests, computer, options);
  }

  /**
   * Yields the desktop now, and again after each change until the loop ends (spec §8.1, §9).
   *
   * A Computer that is away is waited for once it was there; an aborted `signal` throws its reason.
   */
  followDesktop(
    computer: string,
    options: GetDesktopOptions = {},
  ): AsyncGenerator<Desktop[], void, void> {
    const fetch = () => this.getDesktop(computer, options);
    const on = this.on.bind(this);
    return followDesktop(computer, { fetch, on }, options.signal);
  }

  /** Fetches one page of an MCP server's resources; `next_cursor` leads to the next (spec §8.2). */
  getResources(
    computer: string,
    mcpServer: string,
    options: GetResourcesOptions = {},
  ): Promise<GetResourcesRet> {
    return requestResources(this.#requests, computer, mcpServer, options);
  }

  /** Iterates over all resources of an MCP server, fetching pages as they are needed (spec §8.2). */
  allResources(
    computer: string,
    mcpServer: string,
    options: AgentRequestOptions = {},
  ): AsyncGenerator<Resource, void, void> {
    return requestAllResources(this.#requests, computer, mcpServer, options);
  }

  /**
   * Turns a `dpe://` URI into one that can be fetched (spec §8.3).
   *
   * @throws {ProtocolError} 4011 no resolver, 4012 not a DPE URI, 4013 could not be resolved
   */
  getDpe(
    computer: string,
    uri: string,
    options: GetDpeOptions = {},
  ): Promise<GetDPERet> {
    return requestDpe(this.#requests, computer, uri, options);
  }

  /**
   * Opens a document: finds out where it is, and fetches it; its pages follow when they are read
   * (spec §8.3).
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
   * @throws {ProtocolError} as {@linkcode getDpe}; 4201 nothing is where the Computer says
   * @throws {DocumentError} it cannot be fetched, or is no document
   */
  openDocument(
    computer: string,
    uri: string,
    options: OpenDocumentOptions = {},
  ): Promise<OpenDocument> {
    return openDocument(uri, {
      getDpe: (uri, asking) => this.getDpe(computer, uri, asking),
      handlers: this.#options.documentHandlers ?? {},
      session: () => this.#session,
    }, options);
  }

  /** Searches the documents of a Computer (spec §8.4). */
  getFinder(
    computer: string,
    options: GetFinderOptions = {},
  ): Promise<GetFinderRet> {
    return requestFinder(this.#requests, computer, options);
  }

  /** Lists the members of the office, this Agent included (spec §4). */
  listRoom(options: AgentRequestOptions = {}): Promise<SessionInfo[]> {
    return requestMembers(this.#requests, this.office, options);
  }
}
