import { getLogger } from "@logtape/logtape";
import { io } from "socket.io-client";
import { Connection } from "../protocol/client/connection.ts";
import { Emitter, type Listener } from "../protocol/client/emitter.ts";
import { ConnectionError } from "../protocol/client/errors.ts";
import type { ConnectionState } from "../protocol/client/options.ts";
import {
  type AgentCallData,
  type CallToolResult,
  CANCEL_TOOL_CALL_EVENT,
  type Desktop,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_RESOURCES_EVENT,
  GET_TOOLS_EVENT,
  type GetComputerConfigRet,
  type GetDPERet,
  type GetFinderRet,
  type GetResourcesRet,
  LIST_ROOM_EVENT,
  type Notification,
  type Notifications,
  parseListRoomRet,
  type Resource,
  type SessionInfo,
  type SMCPTool,
  timeoutResult,
  TOOL_CALL_EVENT,
} from "../protocol/mod.ts";
import { OpenDocument } from "./documents/document.ts";
import { DocumentSource } from "./documents/source.ts";
import type { AgentEvents } from "./events.ts";
import { followDesktop } from "./follow_desktop.ts";
import type {
  AgentRequestOptions,
  CallToolOptions,
  GetDesktopOptions,
  GetDpeOptions,
  GetFinderOptions,
  GetResourcesOptions,
  OpenDocumentOptions,
  SmcpAgentOptions,
} from "./options.ts";
import { GRACE, REQUEST_TIMEOUT, Requests } from "./requests.ts";
import { catalogueStep, ToolCatalogue } from "./tool_catalogue.ts";

/** Seconds that a tool gets when the caller does not say. */
const TOOL_TIMEOUT = 60;
/**
 * An Agent: joins one office and uses the Computers in it (spec §1, §9).
 *
 * Failures of the way are thrown: `ProtocolError` with a code of the protocol (404: no such
 * Computer, 4103: not in an office), `ConnectionError` for this side. Failures of a tool are
 * results with `isError` (spec §6). After a lost connection the Agent comes back by itself.
 */
export class SmcpAgent implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #options: SmcpAgentOptions;
  readonly #events: Emitter<AgentEvents>;
  readonly #catalogue: ToolCatalogue;
  readonly #requests: Requests;
  /** Another one when URIs that a Computer gave must not be used any more (spec §8.3). */
  #session = {};

  /**
   * Makes an Agent that is not connected yet.
   *
   * @throws {TypeError} when `url` can not be one of a Server
   */
  constructor(options: SmcpAgentOptions) {
    const log = getLogger(["a2c-smcp", "agent"]);
    const onThrow = (error: unknown) => log.error("{error}", { error });
    this.#options = options;
    this.#events = new Emitter(onThrow);
    this.#connection = new Connection(
      io,
      { ...options, role: "agent" },
      onThrow,
    );
    this.#requests = new Requests(this.#connection, options);
    this.#catalogue = new ToolCatalogue({
      list: () => this.#listComputers(),
      fetch: (computer) => this.getTools(computer),
      changed: (computer, tools) =>
        this.#events.emit("tools", { computer, tools }),
      failed: (computer, error) =>
        this.#events.emit("tools_failed", { computer, error }),
    });
    this.#wire();
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

  /** The tools of every Computer in the office, kept up to date from the join on (spec §9). */
  get tools(): ReadonlyMap<string, readonly SMCPTool[]> {
    return this.#catalogue.byComputer;
  }

  /** Resolves once the tools of every Computer known so far are there, or could not be fetched. */
  toolsSettled(): Promise<void> {
    return this.#catalogue.settled();
  }

  /** Adds a listener for notifications and changes of state; returns the function that takes it away. */
  on<E extends keyof AgentEvents>(
    event: E,
    listener: Listener<AgentEvents[E]>,
  ): () => void {
    return this.#events.on(event, listener);
  }

  /**
   * Connects to the Server; from then on the connection is kept up (spec §2, §9).
   *
   * @throws {ProtocolVersionError} the Server speaks another version; no reconnect follows
   * @throws {ProtocolError} the Server refused, such as 401
   * @throws {ConnectionError} `unreachable` or `closed`
   */
  connect(): Promise<void> {
    return this.#connection.connect();
  }

  /**
   * Takes the Agent's seat of an office (spec §5).
   *
   * @throws {ConnectionError} `refused` with the Server's reason, such as "Room already has an agent"
   */
  join(office: string): Promise<void> {
    return this.#connection.join(office);
  }

  /** Gives the seat up; calls that are still pending fail with 4103 (spec §5). */
  async leave(): Promise<void> {
    this.#session = {};
    await this.#connection.leave();
    this.#catalogue.clear();
  }

  /** Disconnects for good, which counts as leaving; pending calls fail with `lost`. */
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
   * @throws {ProtocolError} 404 no such Computer in the office, or it vanished; 408; 4103; 400
   */
  async callTool(
    computer: string,
    tool: string,
    params: Record<string, unknown> = {},
    options: CallToolOptions = {},
  ): Promise<CallToolResult> {
    const { timeout = TOOL_TIMEOUT, reqId = crypto.randomUUID(), signal } =
      options;
    const call = { computer, tool_name: tool, params, timeout };
    try {
      return await this.#requests.request(
        TOOL_CALL_EVENT,
        call,
        timeout,
        signal,
        reqId,
      );
    } catch (error) {
      const timedOut = error instanceof ConnectionError &&
        error.code === "timeout";
      if (timedOut || signal?.aborted) this.cancel(reqId);
      if (timedOut) return timeoutResult(timeout);
      throw error;
    }
  }

  /** Cancels a running call by its `req_id`; unknown and finished ones are ignored (spec §7). */
  cancel(reqId: string): void {
    const cancelled: AgentCallData = { agent: this.name, req_id: reqId };
    this.#connection.send(CANCEL_TOOL_CALL_EVENT, cancelled);
  }

  /** Fetches the tools of a Computer. */
  async getTools(
    computer: string,
    { signal }: AgentRequestOptions = {},
  ): Promise<SMCPTool[]> {
    const { tools } = await this.#requests.ask(
      GET_TOOLS_EVENT,
      { computer },
      signal,
    );
    return tools;
  }

  /** Fetches the configuration of a Computer, without secrets (spec §7). */
  getConfig(
    computer: string,
    { signal }: AgentRequestOptions = {},
  ): Promise<GetComputerConfigRet> {
    return this.#requests.ask(GET_CONFIG_EVENT, { computer }, signal);
  }

  /** Fetches the desktop: the windows of a Computer, rendered, most relevant first (spec §8.1). */
  async getDesktop(
    computer: string,
    options: GetDesktopOptions = {},
  ): Promise<Desktop[]> {
    const { signal, size, window } = options;
    const wanted = {
      computer,
      ...(size !== undefined && { desktop_size: size }),
      ...(window !== undefined && { window }),
    };
    return (await this.#requests.ask(GET_DESKTOP_EVENT, wanted, signal))
      .desktops;
  }

  /**
   * Gives the desktop now, and again after each change until the loop is left (spec §8.1, §9).
   *
   * A Computer that is away is waited for once it was there; an aborted `signal` throws its reason.
   */
  followDesktop(
    computer: string,
    options: GetDesktopOptions = {},
  ): AsyncGenerator<Desktop[], void, void> {
    const source = {
      fetch: () => this.getDesktop(computer, options),
      on: this.on.bind(this),
    };
    return followDesktop(computer, source, options.signal);
  }

  /** Fetches one page of a MCP server's resources; `next_cursor` leads to the next (spec §8.2). */
  getResources(
    computer: string,
    mcpServer: string,
    options: GetResourcesOptions = {},
  ): Promise<GetResourcesRet> {
    const { signal, cursor } = options;
    return this.#requests.ask(GET_RESOURCES_EVENT, {
      computer,
      mcp_server: mcpServer,
      ...(cursor !== undefined && { cursor }),
    }, signal);
  }

  /** Goes through all resources of a MCP server, fetching pages as they are needed (spec §8.2). */
  async *allResources(
    computer: string,
    mcpServer: string,
    options: AgentRequestOptions = {},
  ): AsyncGenerator<Resource, void, void> {
    const seen = new Set<string>(); // a server whose cursors run in a circle ends here
    let cursor: string | undefined;
    do {
      const page = await this.getResources(computer, mcpServer, {
        ...options,
        ...(cursor !== undefined && { cursor }),
      });
      yield* page.resources;
      if (cursor !== undefined) seen.add(cursor);
      cursor = page.next_cursor;
    } while (cursor !== undefined && !seen.has(cursor));
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
    const { signal, timeout } = options;
    return this.#requests.request(
      GET_DPE_EVENT,
      { computer, uri, ...(timeout !== undefined && { timeout }) },
      (timeout ?? REQUEST_TIMEOUT) + GRACE,
      signal,
    );
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
   * @throws {DocumentError} it can not be fetched, or is no document
   */
  openDocument(
    computer: string,
    uri: string,
    options: OpenDocumentOptions = {},
  ): Promise<OpenDocument> {
    const { timeout = REQUEST_TIMEOUT, ...reading } = options;
    const source = new DocumentSource(uri, {
      getDpe: (uri, signal) =>
        this.getDpe(computer, uri, { timeout, ...(signal && { signal }) }),
      handlers: this.#options.documentHandlers ?? {},
      timeout,
    });
    return OpenDocument.open(source, () => this.#session, reading);
  }

  /** Searches the documents of a Computer (spec §8.4). */
  getFinder(
    computer: string,
    options: GetFinderOptions = {},
  ): Promise<GetFinderRet> {
    const { signal, keywords, fileType, offset, limit } = options;
    return this.#requests.ask(GET_FINDER_EVENT, {
      computer,
      ...(keywords !== undefined && { keywords }),
      ...(fileType !== undefined && { file_type: fileType }),
      ...(offset !== undefined && { offset }),
      ...(limit !== undefined && { limit }),
    }, signal);
  }

  /** Lists the members of the office, this Agent included (spec §4). */
  async listRoom(
    { signal }: AgentRequestOptions = {},
  ): Promise<SessionInfo[]> {
    const answer = await this.#requests.send(
      LIST_ROOM_EVENT,
      { office_id: this.office ?? "" },
      REQUEST_TIMEOUT,
      signal,
    );
    return parseListRoomRet(answer).sessions;
  }

  async #listComputers(): Promise<string[]> {
    const members = await this.listRoom();
    return members.filter(({ role }) => role === "computer")
      .map(({ name }) => name);
  }

  #wire(): void {
    const connection = this.#connection;
    connection.on("notification", (notification) => {
      this.#catalogue.apply(catalogueStep(notification));
      this.#notify(notification);
    });
    connection.on("joined", (joined) => {
      this.#catalogue.refresh();
      this.#events.emit("joined", joined);
    });
    connection.on("disconnected", (lost) => {
      this.#session = {};
      if (!lost.reconnecting) this.#catalogue.clear();
      this.#events.emit("disconnected", lost);
    });
    connection.on("connected", (c) => this.#events.emit("connected", c));
    connection.on(
      "rejoin_failed",
      (f) => this.#events.emit("rejoin_failed", f),
    );
    connection.on("refused", (error) => this.#events.emit("refused", error));
  }

  #notify<N extends Notification>(
    { event, payload }: {
      event: N;
      payload: Notifications[N] & AgentEvents[N];
    },
  ): void {
    this.#events.emit(event, payload);
  }
}
