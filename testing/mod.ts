/**
 * An office for tests: one call starts a Server, Computers and an Agent in your process, and closes
 * them.
 *
 * Runs in Deno and Node, under any test runner.
 *
 * ```ts
 * import { startOffice } from "@a2c-smcp/sdk/testing";
 *
 * const office = await startOffice({
 *   computers: {
 *     laptop: (event) =>
 *       event === "client:get_tools"
 *         ? {
 *           req_id: "1",
 *           tools: [{
 *             name: "echo",
 *             description: "Repeats a text",
 *             params_schema: { type: "object" },
 *             return_schema: null,
 *           }],
 *         }
 *         : { content: [{ type: "text", text: "hello" }] },
 *   },
 * });
 * const { content } = await office.agent.callTool("laptop", "echo");
 * console.log(content);
 * await office.close();
 * ```
 *
 * With a real MCP server instead of a script, give the Computer its `servers`:
 * {@linkcode TestComputerOptions}.
 *
 * @module
 */
import "../shared/check_runtime.ts";
export {
  type ConnectionEvents,
  type ConnectionOptions,
  ErrorCode,
  ProtocolError,
  type SmcpAgent,
  type SmcpAgentOptions,
} from "../agent/mod.ts";
export type { SmcpComputer, SmcpComputerOptions } from "../computer/mod.ts";
export type { SmcpServer, SmcpServerOptions } from "../server/mod.ts";
export {
  type ComputerScript,
  type ScriptedComputer,
  scriptedComputer,
  type ScriptedComputerEvents,
  type ScriptedComputerOptions,
  startOffice,
  type TestComputerOptions,
  type TestOffice,
  type TestOfficeOptions,
} from "./start_office.ts";
export type { AnyNotification } from "../client/options.ts";
