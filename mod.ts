/**
 * A2C-SMCP for TypeScript: an Agent uses tools on remote Computers, and never holds their
 * credentials.
 *
 * The three roles and their errors. Each role has an entrypoint of its own, which loads no more
 * than that role needs and exports the types around it; events and payloads of the wire are in
 * `@a2c-smcp/sdk/protocol`.
 *
 * ```ts
 * import { createSmcpServer, SmcpAgent, SmcpComputer } from "@a2c-smcp/sdk";
 *
 * await using server = createSmcpServer();
 * const { url } = await server.listen({ port: 0 });
 *
 * await using computer = new SmcpComputer({ url, name: "laptop", servers: [] });
 * await computer.connect();
 * await computer.join("demo");
 *
 * await using agent = new SmcpAgent({ url, name: "planner" });
 * await agent.connect();
 * await agent.join("demo");
 * console.log(await agent.listRoom());
 * ```
 *
 * @module
 */
export {
  type AgentEvents,
  ConnectionError,
  type ConnectionErrorCode,
  DocumentError,
  type DocumentErrorCode,
  SmcpAgent,
  type SmcpAgentOptions,
} from "./agent/mod.ts";
export {
  type ComputerEvents,
  ConfigError,
  type ConfigProblem,
  SmcpComputer,
  type SmcpComputerOptions,
} from "./computer/mod.ts";
export {
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
  type ProtocolErrorOptions,
  ProtocolVersionError,
} from "./protocol/mod.ts";
export {
  createSmcpServer,
  type SmcpServer,
  type SmcpServerOptions,
} from "./server/mod.ts";

// `deno run -A mod.ts up --config mcp.json`; not there for those who import this module.
if (import.meta.main) import("./main.ts");
