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
  type AudioBlock,
  type BlockBase,
  cancelledResult,
  type ContentBlock,
  type ImageBlock,
  type ResourceBlock,
  type ResourceLinkBlock,
  resultMeta,
  type TextBlock,
  timeoutResult,
  toolErrorResult,
  type Wait,
  waitedFor,
  withResultMeta,
} from "./payloads/tool_result.ts";
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
export {
  checkVersion,
  isCompatible,
  parseVersion,
  supportedRange,
  type Version,
  type VersionCheck,
} from "./handshake.ts";
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
  type ElicitParams,
  type ElicitResult,
  type ElicitValue,
  parseElicitResult,
  type QuestionFields,
} from "./payloads/elicitation.ts";
export { parseDuration, type Parser } from "./validation.ts";
export {
  CLIENT_EVENTS,
  type ClientEventSpec,
  isClientEvent,
  isNotification,
  isServerEvent,
  NOTIFICATIONS,
  SERVER_EVENTS,
  type ServerEventSpec,
} from "./event_table.ts";
export {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  type ClientEvent,
  type ClientEvents,
  ENTER_OFFICE_NOTIFICATION,
  GET_BLOB_EVENT,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCES_EVENT,
  GET_SKILL_EVENT,
  GET_SKILLS_EVENT,
  GET_TOOLS_EVENT,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  LIST_ROOM_EVENT,
  type Notification,
  type Notifications,
  PUT_BLOB_EVENT,
  READ_RESOURCE_EVENT,
  type ServerEvent,
  type ServerEvents,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  UPDATE_CONFIG_EVENT,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_DESKTOP_EVENT,
  UPDATE_DESKTOP_NOTIFICATION,
  UPDATE_FINDER_EVENT,
  UPDATE_FINDER_NOTIFICATION,
  UPDATE_RESOURCES_EVENT,
  UPDATE_RESOURCES_NOTIFICATION,
  UPDATE_SKILLS_EVENT,
  UPDATE_SKILLS_NOTIFICATION,
  UPDATE_TOOL_LIST_EVENT,
  UPDATE_TOOL_LIST_NOTIFICATION,
  WATCH_RESOURCE_EVENT,
} from "./events.ts";
export {
  type GetBlobReq,
  type GetBlobRet,
  type PutBlobReq,
  type PutBlobRet,
} from "./payloads/blobs.ts";
export {
  type A2CSkillRef,
  type GetSkillReq,
  type GetSkillRet,
  type GetSkillsReq,
  type GetSkillsRet,
} from "./payloads/skills.ts";
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
  type MCPServerCommandInput,
  type MCPServerInput,
  type MCPServerInputBase,
  type MCPServerPickStringInput,
  type MCPServerPromptStringInput,
  pickOptions,
  type PickStringOption,
} from "./payloads/inputs.ts";
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
export {
  type AgentCallData,
  type Attributes,
  type AttributeValue,
  type CallToolResult,
  type GetToolsReq,
  type GetToolsRet,
  type Icon,
  mcpServerOf,
  ownToolName,
  parseCallToolResult,
  parseToolCallReq,
  type SMCPTool,
  type TOOL_NAME,
  type ToolCallCancel,
  type ToolCallProgress,
  type ToolCallReq,
  type ToolMeta,
  type ToolProgress,
  type Waiting,
} from "./payloads/tools.ts";
export { eventOf, namesOf, type Profile, PROFILES } from "./profiles.ts";
export {
  type GetPromptReq,
  type GetPromptRet,
  type GetPromptsReq,
  type GetPromptsRet,
  type Prompt,
  type PromptArgument,
  type PromptMessage,
} from "./payloads/prompts.ts";
export {
  type GetResourcesReq,
  type GetResourcesRet,
  type ReadResourceReq,
  type ReadResourceRet,
  type Resource,
  type ResourceContents,
  type UpdateResources,
  type WatchResourceReq,
  type WatchResourceRet,
} from "./payloads/resources.ts";
export {
  ERROR_CODE_HEADER,
  PROTOCOL_VERSION,
  PROTOCOL_VERSIONS,
  type ProtocolName,
  SMCP_NAMESPACE,
  VERSION_PARAMETER,
} from "./version.ts";
