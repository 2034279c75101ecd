/**
 * The Computer of A2C-SMCP: hosts MCP servers, keeps their credentials, and offers their tools to
 * the Agent of an office.
 *
 * Runs in Deno and Node.
 *
 * ```ts
 * import { SmcpComputer } from "@a2c-smcp/sdk/computer";
 *
 * export async function serve(url: string): Promise<SmcpComputer> {
 *   const computer = new SmcpComputer({
 *     url,
 *     name: "laptop",
 *     servers: {
 *       files: {
 *         type: "stdio",
 *         server_parameters: {
 *           command: "npx",
 *           args: ["-y", "@modelcontextprotocol/server-filesystem", "."],
 *         },
 *         tool_meta: { read_text_file: { alias: "read", auto_apply: true } },
 *       },
 *     },
 *   });
 *   computer.on("serverState", ({ name, state }) => console.log(name, state));
 *   await computer.connect();
 *   await computer.join("office-1");
 *   return computer; // `await computer.close()` stops everything
 * }
 * ```
 *
 * Tools without `auto_apply` require user confirmation: see `confirm` of
 * {@linkcode SmcpComputerOptions}. All wire types are in `@a2c-smcp/sdk/protocol`.
 *
 * A {@linkcode ToolHost} hosts MCP servers in the same way, without a Server, for a program that calls the tools itself.
 *
 * The protocol between the roles is in [docs/protocol.md](../docs/protocol.md).
 *
 * @module
 */
import "../shared/check_runtime.ts";

// The Computer, and a host of tools without a connection.
export {
  type ComputerStatus,
  SmcpComputer,
  type SmcpComputerOptions,
} from "./computer.ts";
export type { ToolHostOptions, ToolHostStatus } from "./options.ts";
export { ToolHost } from "./tool_host.ts";
export type { HostingOptions } from "./host/hosting.ts";
export type { BlobOptions } from "./blobs/options.ts";
export type {
  CallHostedToolOptions,
  FindDocumentsOptions,
} from "./requests/local_options.ts";

// Its configuration, and the inputs that this asks for.
export { loadComputerConfig } from "./config/load_config.ts";
export type {
  ComputerConfig,
  ConfigChanges,
  InProcessServer,
  InProcessServerConfig,
  ServerConfig,
  ServerSettings,
} from "./config/config.ts";
export { ConfigError, type ConfigProblem } from "./config/problem.ts";
export {
  type AskedInput,
  type AskInput,
  type ComputerInputs,
  type InputValue,
  InvalidSelectionError,
} from "./config/input_store.ts";

// What a person is asked: to allow a call, to answer an MCP server, to sign in.
export type {
  CallToConfirm,
  Confirm,
  ConfirmAnswer,
  Confirmed,
  ConfirmRequest,
  FileNow,
} from "./tools/confirm.ts";
export type { OptionId, QuestionOption } from "../shared/approvals/question.ts";
export { firstAnswer } from "./tools/first_answer.ts";
export type {
  Permission,
  PermissionList,
  PermissionStore,
} from "./rules/permissions.ts";
export type { FileArguments, Rule, ShownRule } from "./rules/rules.ts";
export type { Conditions } from "./rules/conditions.ts";
export type { Elicit, ElicitRequest } from "./tools/elicitations.ts";
export type {
  AuthorizationRequest,
  OAuthOptions,
} from "./host/oauth/authorizations.ts";

// What happens at it: events, its MCP servers and their tools.
export type {
  ComputerEvents,
  ToolCallAdvanced,
  ToolCallArrived,
  ToolCallEnded,
  ToolCallStarted,
  ToolCallWaiting,
  ToolHostEvents,
} from "./tools/events.ts";
export type {
  ServerFailure,
  ServerState,
  ServerStatus,
} from "./host/server_status.ts";
export type { RestartPolicy } from "./host/hosted_server.ts";
export type { OfferedTool } from "./host/tool_table.ts";

// Where documents come from.
export type {
  DpeResolution,
  DpeResolver,
  DpeResolverContext,
} from "./resources/dpe.ts";
export { localDirResolver } from "./resources/resolvers.ts";
export { s3Resolver, type S3ResolverOptions } from "./resources/s3_resolver.ts";

// Its connection, which an Agent's is like.
export { ConnectionError, type ConnectionErrorCode } from "../client/errors.ts";
export type {
  ConnectionEvents,
  ConnectionOptions,
  ConnectionState,
  Credentials,
} from "../client/options.ts";
export type { ClientProtocol } from "../client/options.ts";
export type { ClientTlsOptions } from "../client/network/tls.ts";
export type {
  ClientEnd,
  InProcessClient,
  InProcessConnection,
  ServerEnd,
} from "../shared/in_process.ts";

// What its methods take and return, as the protocol has it.
export {
  type A2CSkillRef,
  type BaseMCPServerConfig,
  type CallToolResult,
  type Desktop,
  type ElicitResult,
  type ElicitValue,
  ErrorCode,
  type GetComputerConfigRet,
  type GetDPERet,
  type GetFinderRet,
  type GetPromptRet,
  type GetResourcesRet,
  type MCPServerConfig,
  type MCPServerInput,
  type MCPServerInputBase,
  type Prompt,
  type PromptArgument,
  type PromptMessage,
  ProtocolError,
  type ProtocolName,
  ProtocolVersionError,
  type ResourceContents,
  resultMeta,
  type SMCPTool,
  type ToolProgress,
  waitedFor,
  type Waiting,
} from "../protocol/mod.ts";
