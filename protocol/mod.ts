/**
 * The wire of A2C-SMCP 0.1 to 0.4: versions, events, payloads, errors and URIs.
 *
 * Has no side effects and uses no sockets, clocks or files. Runs in Deno, Node, browsers and isolates.
 *
 * ```ts
 * import { isCompatible, parseToolCallReq } from "@a2c-smcp/sdk/protocol";
 *
 * console.log(isCompatible("0.2.7", "0.2.0")); // true
 * const call = parseToolCallReq({
 *   agent: "planner",
 *   req_id: "1",
 *   computer: "laptop",
 *   tool_name: "echo",
 *   params: { message: "hello" },
 *   timeout: 30,
 * });
 * console.log(call.tool_name);
 * ```
 *
 * The contract with the other roles is in [docs/protocol.md](../docs/protocol.md).
 *
 * @module
 */

// Versions, and how a client names its own.
export {
  ERROR_CODE_HEADER,
  PROTOCOL_VERSION,
  PROTOCOL_VERSIONS,
  type ProtocolName,
  SMCP_NAMESPACE,
  VERSION_PARAMETER,
} from "./version.ts";
export * from "./handshake.ts";
export { eventOf, namesOf, type Profile, PROFILES } from "./profiles.ts";

// Events, and who sends which.
export * from "./events.ts";
export {
  type Bound,
  CLIENT_EVENTS,
  type ClientEventSpec,
  DEVICE_BOUNDS,
  isClientEvent,
  isNotification,
  isServerEvent,
  NOTIFICATIONS,
  type RoutedBounds,
  SERVER_EVENTS,
  type ServerEventSpec,
} from "./event_table.ts";

// Errors, and parsers of data that a peer sent.
export {
  ErrorCode,
  type ErrorPayload,
  parseConnectError,
  parseErrorBody,
  ProtocolError,
  type ProtocolErrorOptions,
  ProtocolVersionError,
  toErrorPayload,
} from "./errors.ts";
export { parseDuration, type Parser } from "./validation.ts";

// Offices and their members.
export {
  type EnterOfficeNotification,
  type EnterOfficeReq,
  type LeaveOfficeNotification,
  type LeaveOfficeReq,
  type ListRoomReq,
  type ListRoomRet,
  type OfficeAck,
  parseRole,
  readOfficeAck,
  type Role,
  type SessionInfo,
} from "./payloads/offices.ts";

// Approvals by a person's device.
export {
  DEVICE_BYTES,
  type DeviceReq,
  type DeviceRet,
  type DeviceVerifier,
  MAX_DEVICES,
  parseDeviceReq,
  parseDeviceRet,
  type UpdateDevicesReq,
  type UpdateDevicesRet,
} from "./payloads/devices.ts";

// Tools, their calls, and questions within a call.
export {
  type AgentCallData,
  type Attributes,
  type AttributeValue,
  type GetToolsReq,
  type GetToolsRet,
  type Icon,
  mcpServerOf,
  ownToolName,
  parseToolCallReq,
  type SMCPTool,
  type TOOL_NAME,
  type ToolCallCancel,
  type ToolCallProgress,
  type ToolCallReq,
  type ToolMeta,
  type ToolProgress,
} from "./payloads/tools.ts";
export {
  type AudioBlock,
  type BlockBase,
  type CallToolResult,
  cancelledResult,
  type ContentBlock,
  type ImageBlock,
  parseCallToolResult,
  type ResourceBlock,
  type ResourceLinkBlock,
  resultMeta,
  type TextBlock,
  timeoutResult,
  toolErrorResult,
  type Wait,
  waitedFor,
  type Waiting,
  withResultMeta,
} from "./payloads/tool_result.ts";
export type {
  CompleteReq,
  CompleteRet,
  Completion,
  CompletionRef,
  GetInstructionsReq,
  GetInstructionsRet,
  ServerInstructions,
} from "./payloads/guidance.ts";
export type { RequestMeta } from "./payloads/request_meta.ts";
export {
  type ElicitParams,
  type ElicitResult,
  type ElicitUrlParams,
  type ElicitValue,
  parseElicitResult,
  type QuestionFields,
} from "./payloads/elicitation.ts";

// The configuration of a Computer.
export {
  type BaseMCPServerConfig,
  type GetComputerConfigReq,
  type GetComputerConfigRet,
  type HeaderValue,
  type MCPServerConfig,
  type MCPServerStdioConfig,
  type MCPServerStdioParameters,
  type MCPServerStreamableHttpConfig,
  type MCPServerStreamableHttpParameters,
  type MCPSSEConfig,
  type MCPSSEParameters,
  type OAuthClientParameters,
  type SERVER_NAME,
  type UpdateComputerConfigReq,
  type UpdateMCPConfigNotification,
  type UpdateToolListNotification,
} from "./payloads/config.ts";
export {
  parseMCPServerConfig,
  parseMCPServerInputs,
} from "./payloads/config_file.ts";
export {
  type MCPServerCommandInput,
  type MCPServerInput,
  type MCPServerInputBase,
  type MCPServerPickStringInput,
  type MCPServerPromptStringInput,
  pickOptions,
  type PickStringOption,
} from "./payloads/inputs.ts";

// Windows, documents, resources and prompts.
export {
  buildWindowUri,
  type Desktop,
  type GetDeskTopReq,
  type GetDeskTopRet,
  type ParsedWindowUri,
  parseWindowUri,
  type WindowUri,
} from "./payloads/desktop.ts";
export {
  buildDpeUri,
  docRefOf,
  type DPEDocument,
  type DPEElement,
  type DPEPage,
  type DpeUri,
  type GetDPEReq,
  type GetDPERet,
  type ParsedDpeUri,
  parseDPEDocument,
  parseDPEPage,
  parseDpeUri,
  parseListedDpeUri,
} from "./payloads/documents.ts";
export {
  buildFinderUri,
  type DPEDocumentSummary,
  type DPEElementDetail,
  type DPEPageSummary,
  type FinderQuery,
  type FinderTarget,
  type FinderUri,
  type GetFinderReq,
  type GetFinderRet,
  parseFinderUri,
} from "./payloads/finder.ts";
export {
  type GetResourcesReq,
  type GetResourcesRet,
  type GetResourceTemplatesReq,
  type GetResourceTemplatesRet,
  type ReadResourceReq,
  type ReadResourceRet,
  type Resource,
  type ResourceContents,
  type ResourceTemplate,
  type UpdateResources,
  type WatchResourceReq,
  type WatchResourceRet,
} from "./payloads/resources.ts";
export {
  type GetPromptReq,
  type GetPromptRet,
  type GetPromptsReq,
  type GetPromptsRet,
  type Prompt,
  type PromptArgument,
  type PromptMessage,
} from "./payloads/prompts.ts";

// Skills, and content in parts.
export {
  type A2CSkillRef,
  type GetSkillReq,
  type GetSkillRet,
  type GetSkillsReq,
  type GetSkillsRet,
} from "./payloads/skills.ts";
export {
  type GetBlobReq,
  type GetBlobRet,
  type PutBlobReq,
  type PutBlobRet,
} from "./payloads/blobs.ts";
