/**
 * The types of the wire are written by hand, its validators are schemas: here the type
 * checker proves that both say the same, in both directions. A difference is an error of
 * `deno check` (and of `deno test`, which type-checks) on the line that names the type.
 */
import { assertEquals } from "@std/assert";
import * as z from "zod/mini";
import * as blobs from "../../../protocol/payloads/blobs.ts";
import * as config from "../../../protocol/payloads/config.ts";
import {
  inputsSchema,
  mcpServerConfigSchema,
} from "../../../protocol/payloads/config_file.ts";
import * as desktop from "../../../protocol/payloads/desktop.ts";
import * as documents from "../../../protocol/payloads/documents.ts";
import * as dpe from "../../../protocol/payloads/documents.ts";
import * as finder from "../../../protocol/payloads/finder.ts";
import * as inputs from "../../../protocol/payloads/inputs.ts";
import * as offices from "../../../protocol/payloads/offices.ts";
import * as guidance from "../../../protocol/payloads/guidance.ts";
import * as prompts from "../../../protocol/payloads/prompts.ts";
import * as resources from "../../../protocol/payloads/resources.ts";
import * as skills from "../../../protocol/payloads/skills.ts";
import * as results from "../../../protocol/payloads/tool_result.ts";
import * as tools from "../../../protocol/payloads/tools.ts";
import {
  agentCallDataShape,
  type Parser,
} from "../../../protocol/validation.ts";

/** Without the index signatures of "unknown fields pass through", at every depth. */
type Known<T> = T extends readonly (infer Item)[] ? Known<Item>[]
  : T extends object
    ? keyof Named<T> extends never ? { [K in keyof T]: Known<T[K]> } : Named<T>
  : T;

/** Only the properties that have a name. */
type Named<T> = {
  [K in keyof T as string extends K ? never : K]: Known<T[K]>;
};

/** Identity, not assignability: `{a?: X}` and `{}` are assignable to each other. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends
  (<T>() => T extends B ? 1 : 2) ? true : false;

/** Accepts a schema of `T`, or the parser that was made of one, for `true` only. */
function proves<T>() {
  return <S extends z.ZodMiniType | Parser<unknown>>(
    _schema: S,
    _same: Same<Known<Parsed<S>>, Known<T>>,
  ): void => {};
}

/** The data of a schema, or of a parser. */
type Parsed<S> = S extends Parser<infer T> ? T : z.output<S>;

Deno.test("the interfaces of the wire and their schemas say the same", () => {
  proves<tools.AgentCallData>()(z.looseObject(agentCallDataShape), true);
  proves<tools.ToolCallCancel>()(tools.parseToolCallCancel, true);
  proves<tools.ToolCallReq>()(tools.toolCallReqSchema, true);
  proves<results.CallToolResult>()(results.callToolResultSchema, true);
  proves<tools.GetToolsReq>()(tools.getTools.parseRequest, true);
  proves<tools.GetToolsRet>()(tools.getTools.parseAnswer, true);
  proves<tools.SMCPTool>()(tools.smcpToolSchema, true);
  proves<tools.ToolMeta>()(tools.toolMetaSchema, true);
  proves<config.MCPServerConfig>()(mcpServerConfigSchema, true);
  proves<config.GetComputerConfigReq>()(config.getConfig.parseRequest, true);
  proves<config.GetComputerConfigRet>()(config.getConfig.parseAnswer, true);
  proves<config.UpdateComputerConfigReq>()(
    config.parseUpdateComputerConfigReq,
    true,
  );
  proves<config.UpdateMCPConfigNotification>()(
    config.parseUpdateComputerConfigReq,
    true,
  );
  proves<config.UpdateToolListNotification>()(
    config.parseUpdateComputerConfigReq,
    true,
  );
  proves<inputs.MCPServerInput>()(inputs.inputSchema, true);
  proves<inputs.MCPServerInput[]>()(inputsSchema, true);
  proves<desktop.GetDeskTopReq>()(desktop.getDesktop.parseRequest, true);
  proves<desktop.GetDeskTopRet>()(desktop.getDesktop.parseAnswer, true);
  proves<resources.GetResourcesReq>()(
    resources.getResources.parseRequest,
    true,
  );
  proves<resources.ReadResourceReq>()(
    resources.readResource.parseRequest,
    true,
  );
  proves<prompts.GetPromptsReq>()(prompts.getPrompts.parseRequest, true);
  proves<prompts.GetPromptReq>()(prompts.getPrompt.parseRequest, true);
  proves<resources.GetResourceTemplatesReq>()(
    resources.getResourceTemplates.parseRequest,
    true,
  );
  proves<resources.GetResourceTemplatesRet>()(
    resources.getResourceTemplates.parseAnswer,
    true,
  );
  proves<guidance.CompleteReq>()(guidance.complete.parseRequest, true);
  proves<guidance.CompleteRet>()(guidance.complete.parseAnswer, true);
  proves<guidance.GetInstructionsReq>()(
    guidance.getInstructions.parseRequest,
    true,
  );
  proves<guidance.GetInstructionsRet>()(
    guidance.getInstructions.parseAnswer,
    true,
  );
  proves<dpe.GetDPEReq>()(dpe.getDpe.parseRequest, true);
  proves<dpe.GetDPERet>()(dpe.getDpe.parseAnswer, true);
  proves<finder.GetFinderReq>()(finder.getFinder.parseRequest, true);
  proves<finder.GetFinderRet>()(finder.getFinder.parseAnswer, true);
  proves<finder.DPEDocumentSummary>()(finder.documentSummarySchema, true);
  proves<documents.DPEElement>()(documents.dpeElementSchema, true);
  proves<documents.DPEPage>()(documents.dpePageSchema, true);
  proves<documents.DPEDocument>()(documents.dpeDocumentSchema, true);
  proves<resources.WatchResourceReq>()(
    resources.watchResource.parseRequest,
    true,
  );
  proves<resources.WatchResourceRet>()(
    resources.watchResource.parseAnswer,
    true,
  );
  proves<resources.UpdateResources>()(resources.parseUpdateResources, true);
  proves<blobs.GetBlobReq>()(blobs.getBlob.parseRequest, true);
  proves<blobs.GetBlobRet>()(blobs.getBlob.parseAnswer, true);
  proves<blobs.PutBlobReq>()(blobs.putBlob.parseRequest, true);
  proves<blobs.PutBlobRet>()(blobs.putBlob.parseAnswer, true);
  proves<skills.GetSkillsReq>()(skills.getSkills.parseRequest, true);
  proves<skills.GetSkillsRet>()(skills.getSkills.parseAnswer, true);
  proves<skills.GetSkillReq>()(skills.getSkill.parseRequest, true);
  proves<skills.GetSkillRet>()(skills.getSkill.parseAnswer, true);
  proves<prompts.GetPromptsRet>()(prompts.getPrompts.parseAnswer, true);
  proves<prompts.GetPromptRet>()(prompts.getPrompt.parseAnswer, true);
  proves<tools.ToolCallProgress>()(tools.parseToolCallProgress, true);
  proves<offices.EnterOfficeReq>()(offices.parseEnterOfficeReq, true);
  proves<offices.LeaveOfficeReq>()(offices.parseLeaveOfficeReq, true);
  proves<offices.ListRoomReq>()(offices.parseListRoomReq, true);
  proves<offices.ListRoomRet>()(offices.parseListRoomRet, true);
  proves<offices.EnterOfficeNotification>()(
    offices.parseEnterOfficeNotification,
    true,
  );
  proves<offices.LeaveOfficeNotification>()(
    offices.parseLeaveOfficeNotification,
    true,
  );
});

Deno.test("a page of resources is typed by what MCP promises, and validated by nothing", () => {
  // Spec §8.2: nothing in a resource is validated away, so its schema knows no field.
  type Page = Omit<resources.GetResourcesRet, "resources"> & {
    resources: Record<string, unknown>[];
  };
  proves<Known<{ [K in keyof Page]: Page[K] }>>()(
    resources.getResources.parseAnswer,
    true,
  );
});

Deno.test("the summaries of pages and elements have the fields of the spec's table", () => {
  // MCP servers speak of them in their own URI space: no event of the wire carries them (protocol §8.4).
  const page = same<finder.DPEPageSummary, {
    page_index: number;
    title: string;
    element_count: number;
    uri: string;
    doc_ref?: string;
  }>(true);
  const element = same<finder.DPEElementDetail, {
    element_id: string;
    category: string;
    summary?: string;
    content: Record<string, unknown>;
    doc_ref?: string;
    page_index?: number;
    uri?: string;
    metadata?: Record<string, unknown>;
  }>(true);
  assertEquals([page, element], [true, true]);
});

Deno.test("the proof tells types apart that are merely assignable to each other", () => {
  const differ: false[] = [
    same<{ a: string }, { a: string | null }>(false),
    same<{ a: string }, { a?: string }>(false),
    same<{ a?: string }, Record<never, never>>(false),
    same<{ a: { b: 1; [f: string]: unknown } }, { a: { b: 2 } }>(false),
    same<{ a: { b: 1 }[] }, { a: { b: 1; c?: 1 }[] }>(false),
    same<Record<string, string>, Record<string, number>>(false),
  ];
  const equal = same<{ a: { b: 1; [f: string]: unknown }[] }, {
    a: { b: 1 }[];
  }>(true);
  assertEquals([equal, ...differ], [true, ...differ.map(() => false)]);
});

function same<A, B>(
  is: Same<Known<A>, Known<B>>,
): Same<Known<A>, Known<B>> {
  return is;
}
