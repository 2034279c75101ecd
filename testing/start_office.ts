import {
  type ConnectionOptions,
  SmcpAgent,
  type SmcpAgentOptions,
} from "../agent/mod.ts";
import { SmcpComputer } from "../computer/mod.ts";
import { createSmcpServer, type SmcpServer } from "../server/mod.ts";
import { CloseStack } from "./closing.ts";
import type {
  ComputerScript,
  TestComputerOptions,
  TestOfficeOptions,
} from "./options.ts";
import {
  type ScriptedComputer,
  scriptedComputer,
} from "./scripted_computer.ts";

/** A Server on a free port of this machine, with an Agent and Computers that joined one office. */
export interface TestOffice extends AsyncDisposable {
  /** Address of the Server. */
  readonly url: string;
  /** The office that everybody joined. */
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
  /** Adds a Computer; resolves when its MCP servers have settled and the Agent knows its tools. */
  addComputer(
    name: string,
    options?: TestComputerOptions,
  ): Promise<SmcpComputer>;
  /**
   * Adds a scripted Computer; resolves when the Agent, if it is in the office, was told of it.
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
 * Resolves when the MCP servers of all Computers run or have failed, and the Agent knows the tools.
 * If anything fails to start, what had started is closed.
 *
 * @throws what the part that could not start threw, such as a `ConfigError`
 */
export async function startOffice(
  options: TestOfficeOptions = {},
): Promise<TestOffice> {
  const members = new CloseStack();
  try {
    const { officeId = "test", computers = {} } = options;
    const server = members.use(createSmcpServer(options.server));
    const { url } = await server.listen({ port: 0 });
    const office = new Office(members, server, url, officeId, options.agent);
    for (const [name, computer] of Object.entries(computers)) {
      await (typeof computer === "function"
        ? office.addScriptedComputer(name, computer)
        : office.addComputer(name, computer));
    }
    members.use(office.agent);
    await office.agent.connect();
    await office.agent.join(officeId);
    await office.agent.toolsSettled();
    return office;
  } catch (error) {
    await closeAfter(error, members);
    throw error;
  }
}

class Office implements TestOffice {
  readonly url: string;
  readonly officeId: string;
  readonly server: SmcpServer;
  readonly agent: SmcpAgent;
  readonly #members: CloseStack;
  readonly #computers = new Map<string, SmcpComputer>();

  constructor(
    members: CloseStack,
    server: SmcpServer,
    url: string,
    officeId: string,
    agent: Partial<SmcpAgentOptions> = {},
  ) {
    this.#members = members;
    this.server = server;
    this.url = url;
    this.officeId = officeId;
    this.agent = new SmcpAgent({ url, name: "agent", ...agent });
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
    const computer = this.use(
      new SmcpComputer({
        url: this.url,
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
    const computer = this.use(
      scriptedComputer({ url: this.url, ...options, name, script }),
    );
    await computer.connect();
    await computer.join(this.officeId);
    await this.#introduce();
    return computer;
  }

  use<T extends AsyncDisposable>(item: T): T {
    return this.#members.use(item);
  }

  close(): Promise<void> {
    return this.#members[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The Agent was told of a member before the Server answers what it asks after the join. */
  async #introduce(): Promise<void> {
    if (this.agent.office === this.officeId) await this.agent.listRoom();
  }
}

/** @throws {AggregateError} of both when closing fails as well */
async function closeAfter(
  error: unknown,
  members: AsyncDisposable,
): Promise<void> {
  try {
    await members[Symbol.asyncDispose]();
  } catch (closing) {
    throw new AggregateError(
      [error, closing],
      "Cannot start the office, and cannot close what had started",
      { cause: error },
    );
  }
}
