import * as z from "../validation.ts";
import { type ContentBlock, contentBlockSchema } from "./tool_result.ts";
import { type QuestionFields, questionShape } from "./elicitation.ts";
import type { AgentCallData } from "./tools.ts";

/** Requests the prompts of a Computer's running MCP servers; an extension of this package. */
export interface GetPromptsReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Seconds for listing; 30 when absent. */
  timeout?: number;
}

/** An argument of a prompt, as the MCP server listed it. */
export interface PromptArgument {
  /** Its name. */
  name?: string;
  /** Its name for people. */
  title?: string;
  /** Its description. */
  description?: string;
  /** Whether the prompt needs it. */
  required?: boolean;
  /** Everything else that the server sent. */
  [field: string]: unknown;
}

/**
 * A prompt as its MCP server listed it, with the name of that server.
 *
 * The fields named here are those of MCP; all but the names may be missing or invalid.
 */
export interface Prompt {
  /** Its name there. */
  name: string;
  /** Name of the MCP server: a key of `servers` in the Computer's configuration. */
  mcp_server: string;
  /** Its title for people. */
  title?: string;
  /** Its description. */
  description?: string;
  /** What it can be filled in with. */
  arguments?: PromptArgument[];
  /** Everything else that the server sent. */
  [field: string]: unknown;
}

/** The prompts of a Computer; an extension of this package. */
export interface GetPromptsRet {
  /** All of them, server by server in the order of the configuration; those of a server that fails are missing. */
  prompts: Prompt[];
  /** The `req_id` of the request. */
  req_id: string;
}

/** Requests a prompt, filled in: `prompts/get` of MCP; an extension of this package. */
export interface GetPromptReq extends AgentCallData, QuestionFields {
  /** Name of the target Computer. */
  computer: string;
  /** Name of the MCP server: a key of `servers` in the Computer's configuration. */
  mcp_server: string;
  /** The prompt's name there. */
  name: string;
  /** What it is filled in with. */
  arguments?: Record<string, string>;
  /** Seconds for the MCP server; 30 when absent. */
  timeout?: number;
}

/** One message of a prompt. */
export interface PromptMessage {
  /** The speaker. */
  role: "user" | "assistant";
  /** The content of the message. */
  content: ContentBlock;
}

/** A prompt that is filled in; an extension of this package. */
export interface GetPromptRet {
  /** What it is for. */
  description?: string;
  /** The text for a model. */
  messages: PromptMessage[];
  /** The metadata of the MCP server's answer. */
  _meta?: Record<string, unknown>;
  /** `input_required` for a question to the caller in place of the messages. */
  resultType?: string;
  /** The question, by its key. */
  inputRequests?: Record<string, unknown>;
  /** What the caller repeats with the answer. */
  requestState?: string;
  /** The `req_id` of the request. */
  req_id: string;
}

/** The parsers of `client:get_prompts`; of a prompt only the names are checked. */
export const getPrompts = z.routed(
  z.computerCall({ timeout: z.exactOptional(z.timeoutSeconds) }),
  z.answer({
    prompts: z.listOf(z.pipe(
      z.looseObject({ name: z.string(), mcp_server: z.string() }),
      z.transform((prompt) => prompt as Prompt),
    )),
  }),
);

/** The parsers of `client:get_prompt`. */
export const getPrompt = z.routed(
  z.computerCall({
    mcp_server: z.identifier,
    name: z.string(),
    arguments: z.exactOptional(z.mapOf(z.string())),
    ...questionShape,
    timeout: z.exactOptional(z.timeoutSeconds),
  }),
  z.answer({
    description: z.exactOptional(z.string()),
    messages: z.listOf(z.looseObject({
      role: z.enum(["user", "assistant"]),
      content: contentBlockSchema,
    })),
    _meta: z.exactOptional(z.plainObject),
    resultType: z.exactOptional(z.string()),
    inputRequests: z.exactOptional(z.plainObject),
    requestState: z.exactOptional(z.string()),
  }),
);
