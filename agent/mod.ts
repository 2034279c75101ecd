/**
 * The Agent of A2C-SMCP: calls the tools of remote Computers without holding their credentials.
 *
 * Runs in Deno, Node and browsers.
 *
 * ```ts
 * import { SmcpAgent } from "@a2c-smcp/sdk/agent";
 *
 * export async function hello(url: string): Promise<void> {
 *   await using agent = new SmcpAgent({ url, name: "planner" });
 *   await agent.connect();
 *   await agent.join("office-1");
 *   await agent.toolsSettled();
 *   for (const [computer, tools] of agent.tools) {
 *     console.log(computer, tools.map((tool) => tool.name));
 *   }
 *   const result = await agent.callTool("laptop", "echo", { message: "hello" });
 *   console.log(result.content);
 * }
 * ```
 *
 * All wire types are in `@a2c-smcp/sdk/protocol`.
 *
 * The contract with the other roles is in [docs/protocol.md](../docs/protocol.md).
 *
 * @module
 */
import "../shared/check_runtime.ts";

// The Agent, and what its requests take.
export { SmcpAgent } from "./agent.ts";
export type {
  AgentRequestOptions,
  CallToolOptions,
  FindToolOptions,
  GetDesktopOptions,
  GetDpeOptions,
  GetFileOptions,
  GetFinderOptions,
  GetPromptOptions,
  GetResourcesOptions,
  GetSkillOptions,
  OpenDocumentOptions,
  PutFileOptions,
  PutFileProgress,
  SmcpAgentOptions,
  TimedRequestOptions,
  WatchResourceOptions,
} from "./options.ts";
export type { AgentEvents } from "./events.ts";

// Tools, found by name in the whole office.
export {
  type FoundTool,
  ToolLookupError,
  type ToolLookupErrorCode,
} from "./tools.ts";

// Files and documents, which may be longer than a message.
export { BlobError, type BlobErrorCode } from "./blobs.ts";
export type { FileToPut, PutFile } from "./put_file.ts";
export type { GotFile } from "./files.ts";
export type { OpenDocument } from "./document.ts";
export {
  DocumentError,
  type DocumentErrorCode,
  type DocumentHandler,
} from "./document_source.ts";

// Skills, written to a folder.
export { expandSkillDir, type SkillFile } from "./skills.ts";

// Its connection, which a Computer's is like.
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

// What requests return and throw, as the protocol has it.
export {
  type A2CSkillRef,
  type CallToolResult,
  type CompleteReq,
  type Completion,
  type CompletionRef,
  type ContentBlock,
  type Desktop,
  type DPEDocument,
  type DPEElement,
  type DPEPage,
  type ElicitParams,
  type ElicitResult,
  type ElicitUrlParams,
  type ElicitValue,
  type EnterOfficeNotification,
  ErrorCode,
  type GetComputerConfigRet,
  type GetDPERet,
  type GetFinderRet,
  type GetPromptRet,
  type GetResourcesRet,
  type LeaveOfficeNotification,
  type Prompt,
  type PromptArgument,
  type PromptMessage,
  ProtocolError,
  type ProtocolName,
  ProtocolVersionError,
  type Resource,
  type ResourceContents,
  type ResourceTemplate,
  resultMeta,
  type ServerInstructions,
  type SessionInfo,
  type SMCPTool,
  type ToolCallProgress,
  type ToolProgress,
  type UpdateResources,
  waitedFor,
  type Waiting,
} from "../protocol/mod.ts";
