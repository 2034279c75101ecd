import { SmcpAgent, type SmcpAgentOptions } from "../../agent/mod.ts";
import { Connection } from "../../client/connection.ts";
import type {
  ConnectionOptions,
  RequestHandler,
} from "../../client/options.ts";
import {
  createSmcpServer,
  type SmcpServer,
  type SmcpServerOptions,
} from "../../server/mod.ts";

/** The office that everybody joins unless a test says otherwise. */
export const OFFICE = "north";

/** What to start with. */
export interface OfficeSetup {
  /** How the Server differs from the default. */
  server?: SmcpServerOptions;
  /** How the Agent differs from the default. */
  agent?: Partial<SmcpAgentOptions>;
  /** Scripted Computers by name: each answers requests as its function says. */
  computers?: Record<string, RequestHandler>;
}

/** A real Server on a free port, with a joined Agent and joined Computers. */
export interface Office extends AsyncDisposable {
  readonly url: string;
  readonly server: SmcpServer;
  readonly agent: SmcpAgent;
  /** Adds a scripted Computer; closed with the office. */
  addComputer(name: string, handler: RequestHandler): Promise<Connection>;
  /** Adds a further client, closed with the office. */
  keep<T extends AsyncDisposable>(client: T): T;
}

/** Starts a Server, Computers and an Agent, all joined; everything closes at the end of the scope. */
export async function startOffice(setup: OfficeSetup = {}): Promise<Office> {
  const stack = new AsyncDisposableStack();
  try {
    const server = stack.use(createSmcpServer(setup.server));
    const { url } = await server.listen({ port: 0 });
    const addComputer = async (name: string, handler: RequestHandler) => {
      const computer = stack.use(scriptedComputer(url, name, handler));
      await computer.connect();
      await computer.join(OFFICE);
      return computer;
    };
    for (const [name, handler] of Object.entries(setup.computers ?? {})) {
      await addComputer(name, handler);
    }
    const agent = stack.use(
      new SmcpAgent({ url, name: "planner", ...setup.agent }),
    );
    await agent.connect();
    await agent.join(OFFICE);
    await agent.toolsSettled();
    return {
      url,
      server,
      agent,
      addComputer,
      keep: (client) => stack.use(client),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** A Computer without MCP servers: answers each request as the function says. */
export function scriptedComputer(
  url: string,
  name: string,
  handler: RequestHandler,
  options: Partial<ConnectionOptions> = {},
): Connection {
  const computer = new Connection(
    { url, name, role: "computer", ...options },
    (error) => console.error(error),
  );
  computer.onRequest(handler);
  return computer;
}
