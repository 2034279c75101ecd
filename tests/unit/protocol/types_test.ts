/**
 * The types of the wire are written by hand, its validators are schemas: here the type
 * checker proves that both say the same, in both directions. A difference is an error of
 * `deno check` (and of `deno test`, which type-checks) on the line that names the type.
 */
import { assertEquals } from "@std/assert";
import * as z from "zod/mini";
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
import * as prompts from "../../../protocol/payloads/prompts.ts";
import * as resources from "../../../protocol/payloads/resources.ts";
import * as tools from "../../../protocol/payloads/tools.ts";
import { agentCallDataShape } from "../../../protocol/validation.ts";

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

/** Accepts a schema of `T` for `true` only. */
function proves<T>() {
  return <S extends z.ZodMiniType>(
    _schema: S,
    _same: Same<Known<z.output<S>>, Known<T>>,
  ): void => {};
}

Deno.test("the interfaces of the wire and their schemas say the same", () => {
  proves<tools.AgentCallData>()(z.looseObject(agentCallDataShape), true);
  proves<tools.ToolCallCancel>()(tools.toolCallCancelSchema, true);
  proves<tools.ToolCallReq>()(tools.toolCallReqSchema, true);
  proves<tools.CallToolResult>()(tools.callToolResultSchema, true);
  proves<tools.GetToolsReq>()(tools.getToolsReqSchema, true);
  proves<tools.GetToolsRet>()(tools.getToolsRetSchema, true);
  proves<tools.SMCPTool>()(tools.smcpToolSchema, true);
  proves<tools.ToolMeta>()(tools.toolMetaSchema, true);
  proves<config.MCPServerConfig>()(mcpServerConfigSchema, true);
  proves<config.GetComputerConfigReq>()(
    config.getComputerConfigReqSchema,
    true,
  );
  proves<config.GetComputerConfigRet>()(
    config.getComputerConfigRetSchema,
    true,
  );
  proves<config.UpdateComputerConfigReq>()(
    config.updateComputerConfigReqSchema,
    true,
  );
  proves<config.UpdateMCPConfigNotification>()(
    config.updateComputerConfigReqSchema,
    true,
  );
  proves<config.UpdateToolListNotification>()(
    config.updateComputerConfigReqSchema,
    true,
  );
  proves<inputs.MCPServerInput>()(inputs.inputSchema, true);
  proves<inputs.MCPServerInput[]>()(inputsSchema, true);
  proves<desktop.GetDeskTopReq>()(desktop.getDeskTopReqSchema, true);
  proves<desktop.GetDeskTopRet>()(desktop.getDeskTopRetSchema, true);
  proves<resources.GetResourcesReq>()(resources.getResourcesReqSchema, true);
  proves<resources.ReadResourceReq>()(resources.readResourceReqSchema, true);
  proves<prompts.GetPromptsReq>()(prompts.getPromptsReqSchema, true);
  proves<prompts.GetPromptReq>()(prompts.getPromptReqSchema, true);
  proves<dpe.GetDPEReq>()(dpe.getDPEReqSchema, true);
  proves<dpe.GetDPERet>()(dpe.getDPERetSchema, true);
  proves<finder.GetFinderReq>()(finder.getFinderReqSchema, true);
  proves<finder.GetFinderRet>()(finder.getFinderRetSchema, true);
  proves<finder.DPEDocumentSummary>()(finder.documentSummarySchema, true);
  proves<documents.DPEElement>()(documents.dpeElementSchema, true);
  proves<documents.DPEPage>()(documents.dpePageSchema, true);
  proves<documents.DPEDocument>()(documents.dpeDocumentSchema, true);
  proves<offices.EnterOfficeReq>()(offices.enterOfficeReqSchema, true);
  proves<offices.LeaveOfficeReq>()(offices.leaveOfficeReqSchema, true);
  proves<offices.ListRoomReq>()(offices.listRoomReqSchema, true);
  proves<offices.ListRoomRet>()(offices.listRoomRetSchema, true);
  proves<offices.EnterOfficeNotification>()(
    offices.memberNotificationSchema,
    true,
  );
  proves<offices.LeaveOfficeNotification>()(
    offices.memberNotificationSchema,
    true,
  );
});

Deno.test("a page of resources is typed by what MCP promises, and validated by nothing", () => {
  // Spec §8.2: nothing in a resource is validated away, so its schema knows no field.
  type Page = Omit<resources.GetResourcesRet, "resources"> & {
    resources: Record<string, unknown>[];
  };
  proves<Known<{ [K in keyof Page]: Page[K] }>>()(
    resources.getResourcesRetSchema,
    true,
  );
});

Deno.test("the summaries of pages and elements have the fields of the spec's table", () => {
  // MCP servers speak of them in their own URI space: no event of the wire carries them (spec §8.4).
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
