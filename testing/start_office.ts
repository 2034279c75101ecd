/**
 * A Server, an Agent and Computers in one process, for tests; also Computers that answer by a script.
 *
 * @module
 */
import {
  type ConnectionEvents,
  type ConnectionOptions,
  SmcpAgent,
  type SmcpAgentOptions,
} from "../agent/mod.ts";
import { NETWORK_OPTIONS } from "../client/check_options.ts";
import { Connection } from "../client/connection.ts";
import { type AnyNotification, CONNECTION_NAMES } from "../client/options.ts";
import { CLIENT_PROTOCOLS } from "../client/versions.ts";
import { SmcpComputer, type SmcpComputerOptions } from "../computer/mod.ts";
import {
  createSmcpServer,
  type SmcpServer,
  type SmcpServerOptions,
} from "../server/mod.ts";
import { checkNames, type NamesOf } from "../shared/checks.ts";

/** Options for {@linkcode startOffice}. */
export interface TestOfficeOptions {
  /** The office that all members join; default `"test"`. */
  officeId?: string;
  /** Options of the Server. */
  server?: SmcpServerOptions;
  /** Options of the Agent; unless given here its name is `"agent"`, and it connects to the Server. */
  agent?: Partial<SmcpAgentOptions>;
  /** The Computers by name: the options of each, or a script in place of MCP servers. */
  computers?: Readonly<Record<string, TestComputerOptions | ComputerScript>>;
}

const TEST_OFFICE_NAMES = {
  officeId: true,
  server: true, // these are checked where they are used
  agent: true,
  computers: true,
} satisfies NamesOf<TestOfficeOptions>;

/**
 * Options of a Computer in a test.
 *
 * It connects to the office's Server unless given a `url` or `connection`. Without `servers` it hosts none, and without `confirm`
 * every tool runs unasked.
 */
export type TestComputerOptions = Partial<Omit<SmcpComputerOptions, "name">>;

/**
 * Answers each request of the Agent in place of a Computer, such as `client:get_tools` and
 * `client:tool_call`.
 *
 * What it returns, or its promise resolves to, goes out as it is, however wrong: so an Agent can be
 * tested with answers that no real Computer gives. What it throws becomes an error of the protocol.
 *
 * @param event name of the event
 * @param payload as the Agent sent it
 */
export type ComputerScript = (event: string, payload: unknown) => unknown;

/** Options of a scripted Computer. */
export interface ScriptedComputerOptions extends ConnectionOptions {
  /** Answers the requests. */
  script: ComputerScript;
}

const SCRIPTED_NAMES = {
  ...CONNECTION_NAMES,
  script: true,
} satisfies NamesOf<ScriptedComputerOptions>;

/**
 * A Server with an Agent and Computers of this process, which joined one office without a socket. It
 * listens on a free port of this machine too, for others.
 */
export interface TestOffice extends AsyncDisposable {
  /** Address of the Server, for clients that are to come over the network. */
  readonly url: string;
  /** The office that all members joined. */
  readonly officeId: string;
  /** The Server. */
  readonly server: SmcpServer;
  /** The Agent; `leave` frees its seat for an Agent of your own, since an office has one. */
  readonly agent: SmcpAgent;
  /**
   * Returns a Computer by its name.
   *
   * @throws {Error} that lists those there are; a scripted one is not among them
   */
  computer(name: string): SmcpComputer;
  /** Adds a Computer; resolves when its MCP servers have settled and the Agent has its tools. */
  addComputer(
    name: string,
    options?: TestComputerOptions,
  ): Promise<SmcpComputer>;
  /**
   * Adds a scripted Computer; resolves when the Agent, if it is in the office, was notified of it.
   *
   * @param options of its connection, such as credentials
   */
  addScriptedComputer(
    name: string,
    script: ComputerScript,
    options?: Partial<ConnectionOptions>,
  ): Promise<ScriptedComputer>;
  /** Adds anything else that is to be closed with the office, before all that is older. */
  use<T extends AsyncDisposable>(item: T): T;
  /** Closes all, the last first; the same as leaving the scope of `await using`. */
  close(): Promise<void>;
}

/**
 * Starts a Server, Computers and an Agent in this process, all joined.
 *
 * They connect within the process, except those whose options need the network, such as `url` or `auth`,
 * and all where the Server has an `authenticator`.
 *
 * Resolves when the MCP servers of all Computers run or have failed, and the Agent has their tools.
 * If anything fails to start, what had started is closed.
 *
 * @throws what the part that could not start threw, such as a `ConfigError`
 */
export async function startOffice(
  options: TestOfficeOptions = {},
): Promise<TestOffice> {
  checkNames(options, TEST_OFFICE_NAMES, "startOffice()");
  const { computers = {} } = options;
  const server = createSmcpServer(options.server);
  const members = new CloseStack(server);
  try {
    const { url } = await server.listen({ port: 0 });
    const office = new Office(server, url, options, members);
    for (const [name, computer] of Object.entries(computers)) {
      await (typeof computer === "function"
        ? office.addScriptedComputer(name, computer)
        : office.addComputer(name, computer));
    }
    members.use(office.agent);
    await office.agent.connect();
    await office.agent.join(office.officeId);
    await office.agent.toolsSettled();
    return office;
  } catch (error) {
    await members.close().catch((closing) => {
      throw new AggregateError(
        [error, closing],
        "Cannot start the office, and cannot close what had started",
        { cause: error },
      );
    });
    throw error;
  }
}

const needsNetwork = (options: Partial<ConnectionOptions>): boolean =>
  NETWORK_OPTIONS.some((name) => Reflect.get(options, name) !== undefined);

class Office implements TestOffice {
  readonly url: string;
  readonly officeId: string;
  readonly server: SmcpServer;
  readonly agent: SmcpAgent;
  readonly #serverOptions: SmcpServerOptions;
  readonly #members: CloseStack;
  readonly #computers = new Map<string, SmcpComputer>();

  /** @param members closes them */
  constructor(
    server: SmcpServer,
    url: string,
    options: TestOfficeOptions,
    members: CloseStack,
  ) {
    const { officeId = "test", agent = {} } = options;
    this.server = server;
    this.url = url;
    this.officeId = officeId;
    this.#serverOptions = options.server ?? {};
    this.#members = members;
    this.agent = new SmcpAgent({
      ...this.#connectionFor(agent),
      name: "agent",
      ...agent,
    });
  }

  /** Within the process where nothing needs the network, with the version that a client would choose there. */
  #connectionFor(
    options: Partial<ConnectionOptions>,
  ): Pick<ConnectionOptions, "url" | "connection"> {
    if (options.connection) return {};
    const { authenticator, protocol: served = "0.2" } = this.#serverOptions;
    if (authenticator || needsNetwork(options)) return { url: this.url };
    const protocol =
      CLIENT_PROTOCOLS.findLast((name) =>
        served === "all" || [served].flat().includes(name)
      ) ?? "0.2";
    return { connection: this.server.connect({ protocol }) };
  }

  computer(name: string): SmcpComputer {
    const found = this.#computers.get(name);
    if (found) return found;
    const names = [...this.#computers.keys()].join(", ") || "none";
    throw new Error(`There is no Computer "${name}"; there are: ${names}`);
  }

  async addComputer(
    name: string,
    options: TestComputerOptions = {},
  ): Promise<SmcpComputer> {
    this.#members.checkOpen();
    const computer = this.use(
      new SmcpComputer({
        ...this.#connectionFor(options),
        servers: {},
        confirm: () => "once",
        ...options,
        name,
      }),
    );
    await computer.connect();
    await computer.serversSettled();
    await computer.join(this.officeId);
    this.#computers.set(name, computer);
    await this.#introduce();
    await this.agent.toolsSettled();
    return computer;
  }

  async addScriptedComputer(
    name: string,
    script: ComputerScript,
    options: Partial<ConnectionOptions> = {},
  ): Promise<ScriptedComputer> {
    this.#members.checkOpen();
    const connection = this.#connectionFor(options);
    const computer = this.use(
      scriptedComputer({ ...connection, ...options, name, script }),
    );
    await computer.connect();
    await computer.join(this.officeId);
    await this.#introduce();
    return computer;
  }

  /** The Agent is notified of a member before the Server answers what it asks after the join. */
  async #introduce(): Promise<void> {
    if (this.agent.office === this.officeId) await this.agent.listRoom();
  }

  use<T extends AsyncDisposable>(item: T): T {
    return this.#members.use(item);
  }

  close(): Promise<void> {
    return this.#members.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Closes what a test started, the last first; Node 22 has no `AsyncDisposableStack`. */
class CloseStack {
  readonly #items: AsyncDisposable[];
  #closed = false;

  constructor(...items: AsyncDisposable[]) {
    this.#items = items;
  }

  /**
   * Adds an item that is closed with the stack.
   *
   * @throws {Error} when the stack is closed already: nothing would close the item
   */
  use<T extends AsyncDisposable>(item: T): T {
    this.checkOpen();
    this.#items.push(item);
    return item;
  }

  /** @throws {Error} when the stack is closed */
  checkOpen(): void {
    if (this.#closed) throw new Error("Cannot add to an office that is closed");
  }

  /**
   * Closes every item, whatever becomes of the others.
   *
   * @throws the error of the one item that failed, or an `AggregateError` of several
   */
  async close(): Promise<void> {
    this.#closed = true;
    const errors: unknown[] = [];
    for (let item = this.#items.pop(); item; item = this.#items.pop()) {
      try {
        await item[Symbol.asyncDispose]();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) {
      throw new AggregateError(
        errors,
        `Cannot close ${errors.length} members of the office`,
      );
    }
  }
}

/** The events of a scripted Computer. */
export interface ScriptedComputerEvents extends ConnectionEvents {
  /** A notification of the office, such as that a call was cancelled: `notify:tool_call_cancel`. */
  notification: AnyNotification;
}

/** A Computer without MCP servers, which answers by a script. */
export interface ScriptedComputer extends AsyncDisposable {
  /** Connects to the Server. */
  connect(): Promise<void>;
  /** Joins an office. */
  join(office: string): Promise<void>;
  /** Leaves the office. */
  leave(): Promise<void>;
  /** Adds a listener; returns the function that removes it. */
  on<E extends keyof ScriptedComputerEvents>(
    event: E,
    listener: (value: ScriptedComputerEvents[E]) => unknown,
  ): () => void;
  /**
   * Sends an event to the Server, such as `server:update_tool_list`.
   *
   * @returns `false` without a connection
   */
  send(event: string, payload: object): boolean;
  /** Leaves and disconnects for good. */
  close(): Promise<void>;
}

/** Makes a scripted Computer that is not connected yet. */
export function scriptedComputer(
  options: ScriptedComputerOptions,
): ScriptedComputer {
  checkNames(options, SCRIPTED_NAMES, "scriptedComputer()");
  const { script, ...connection } = options;
  const computer = new Connection(
    { ...connection, role: "computer" },
    (error) => console.error(error),
  );
  computer.onRequest(script);
  return computer;
}
