import { Connection } from "../client/connection.ts";
import {
  CONNECTION_NAMES,
  type ConnectionOptions,
  type ConnectionState,
} from "../client/options.ts";
import type { ClientProtocol } from "../client/options.ts";
import { checkNames, type NamesOf } from "../shared/checks.ts";
import { OfficeLink } from "./requests/office_link.ts";
import {
  TOOL_HOST_NAMES,
  type ToolHostOptions,
  type ToolHostStatus,
} from "./options.ts";
import { partsOf, ToolHost } from "./tool_host.ts";
import type { ComputerEvents } from "./tools/events.ts";
import { logThrown } from "./util/log.ts";

/** What a {@linkcode SmcpComputer} hosts, and where it offers it. */
export interface SmcpComputerOptions
  extends ConnectionOptions, ToolHostOptions {
  /**
   * Whether to answer the Server's operators with 403. By default they may ask what an Agent may: for
   * tools, MCP servers and windows, and for tool calls, which are confirmed as an Agent's are.
   */
  refuseOperators?: boolean;
}

const COMPUTER_NAMES = {
  ...CONNECTION_NAMES,
  ...TOOL_HOST_NAMES,
  refuseOperators: true,
} satisfies NamesOf<SmcpComputerOptions>;

/** Returns the options without those of the connection, which a {@linkcode ToolHost} refuses. */
const toHostOptions = (options: SmcpComputerOptions): ToolHostOptions =>
  Object.fromEntries(
    Object.entries(options).filter(([name]) => name in TOOL_HOST_NAMES),
  ) as typeof options;

/** How a Computer is doing. */
export interface ComputerStatus extends ToolHostStatus {
  /** Its name in the office. */
  readonly name: string;
  /** Where the connection to the Server stands. */
  readonly connection: ConnectionState;
  /** The protocol version of the connection, or of the next attempt. */
  readonly protocol: ClientProtocol;
  /** The office that it is in, or rejoins. */
  readonly office?: string;
}

/** Opens the connection of a Computer for the commands; not exported from the package. */
export let officeLinkOf: (computer: SmcpComputer) => OfficeLink;

/**
 * A Computer: a {@linkcode ToolHost} with a connection, which offers its tools to the Agent of an
 * office (protocol §1).
 *
 * The MCP servers start in parallel once it is connected, and nothing waits for them: what is
 * ready is offered, the rest follows. After a lost connection the Computer reconnects by itself,
 * and joins its office again.
 */
export class SmcpComputer extends ToolHost {
  readonly #link: OfficeLink;

  static {
    officeLinkOf = (computer) => computer.#link;
  }

  /**
   * Creates a Computer that is not connected and has started nothing.
   *
   * @throws {ConfigError} that lists every mistake in `servers` and `inputs`
   * @throws {TypeError} when an option of the connection is invalid, which it names, or
   * `maxMessageBytes` is no limit
   */
  constructor(options: SmcpComputerOptions) {
    checkNames(options, COMPUTER_NAMES, "SmcpComputer");
    const signed = { ...options, role: "computer" } as const;
    const connection = new Connection(signed, logThrown); // first: if it throws, nothing is left behind
    super(toHostOptions(options));
    this.#link = new OfficeLink(signed, connection, partsOf(this));
  }

  /** Its name in the office. */
  get name(): string {
    return this.#link.name;
  }

  /** Address of its Server; `in process` for one of this process that does not listen. */
  get url(): string {
    return this.#link.url;
  }

  /** The office that it is in, or rejoins after a reconnect. */
  get office(): string | undefined {
    return this.#link.connection.office;
  }

  /** Returns its status, and that of its MCP servers. */
  override status(): ComputerStatus {
    const { name, connection: { state, protocol, office } } = this.#link;
    return {
      name,
      connection: state,
      protocol,
      ...(office !== undefined && { office }),
      ...super.status(),
    };
  }

  /** Adds a listener of {@linkcode ComputerEvents}; returns the function that removes it. */
  override on<E extends keyof ComputerEvents>(
    event: E,
    listener: (value: ComputerEvents[E]) => unknown,
  ): () => void {
    return partsOf(this).events.on(event, listener);
  }

  /**
   * Connects to the Server, and starts the MCP servers then, without waiting for them.
   *
   * One attempt, for all who call meanwhile; after one that failed it may be called again,
   * after `close` not.
   *
   * @throws {ProtocolVersionError} the Server speaks another version
   * @throws {ProtocolError} the Server refused for another reason
   * @throws {ConnectionError} `unreachable`, `tls` or `closed`
   */
  async connect(): Promise<void> {
    await this.#link.connect();
    void this.start();
  }

  /** Resolves when each MCP server that `connect` or `start` started runs or has failed. */
  serversSettled(): Promise<void> {
    return partsOf(this).hosting.settled();
  }

  /**
   * Joins an office, out of the one that it was in, and again after each reconnect (protocol §5, §9).
   *
   * @throws {TypeError} when no office can have that name
   * @throws {ConnectionError} `refused` with the Server's reason, `offline`, `lost` or `timeout`
   */
  join(office: string): Promise<void> {
    return this.#link.connection.join(office);
  }

  /**
   * Leaves the office; resolves when its name is free. Calls that run there are aborted.
   *
   * @throws {ConnectionError} `refused`: it is still there; `lost`, `timeout`: it is out anyway
   */
  leave(): Promise<void> {
    return this.#link.leave();
  }

  /**
   * Leaves, disconnects and stops every MCP server for good; nothing that they started is left, and
   * the name is free for the next one.
   */
  override async close(): Promise<void> {
    // The tools first: what ends from now on is not announced.
    await Promise.all([super.close(), this.#link.close()]);
  }
}
