/**
 * How MCP servers help with the use of themselves: instructions for models, and completions of what is being typed;
 * extensions of this package (protocol §8.2).
 *
 * @module
 */
import type { AgentCallData } from "./tools.ts";
import * as z from "../validation.ts";

/** Requests the instructions of a Computer's running MCP servers; an extension of this package. */
export interface GetInstructionsReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
}

/** What an MCP server has for models that use it: `instructions` of MCP. */
export interface ServerInstructions {
  /** Name of the MCP server: a key of `servers` in the Computer's configuration. */
  mcp_server: string;
  /** The instructions. */
  text: string;
}

/** The instructions of a Computer's MCP servers; an extension of this package. */
export interface GetInstructionsRet {
  /** Those of each running server that has some, in the order of the configuration. */
  instructions: ServerInstructions[];
  /** The `req_id` of the request. */
  req_id: string;
}

/** What is completed: an argument of a prompt, or a variable of a template, as in MCP. */
export type CompletionRef =
  | {
    /** An argument of a prompt. */
    type: "ref/prompt";
    /** The prompt's name at the MCP server. */
    name: string;
  }
  | {
    /** A variable of a template of resources. */
    type: "ref/resource";
    /** The template of the MCP server, or a URI. */
    uri: string;
  };

/** Requests values for an argument or a variable: `completion/complete` of MCP; an extension of this package. */
export interface CompleteReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Name of the MCP server: a key of `servers` in the Computer's configuration. */
  mcp_server: string;
  /** The prompt or template. */
  ref: CompletionRef;
  /** The argument or variable, and what of its value is there already. */
  argument: {
    /** Its name. */
    name: string;
    /** The beginning of its value. */
    value: string;
  };
  /** What is known beside it. */
  context?: {
    /** The values of other arguments or variables. */
    arguments?: Record<string, string>;
  };
  /** Seconds for the MCP server; 30 when absent. */
  timeout?: number;
}

/** Values that an argument or a variable can have, as in MCP. */
export interface Completion {
  /** The best ones; MCP allows 100. */
  values: string[];
  /** How many there are in all. */
  total?: number;
  /** Whether there are more. */
  hasMore?: boolean;
}

/** The answer to a {@linkcode CompleteReq}. */
export interface CompleteRet {
  /** The values. */
  completion: Completion;
  /** The `req_id` of the request. */
  req_id: string;
}

/** The parsers of `client:get_instructions`. */
export const getInstructions = z.routed(
  z.computerCall({}),
  z.answer({
    instructions: z.listOf(
      z.looseObject({ mcp_server: z.string(), text: z.string() }),
    ),
  }),
);

/** The parsers of `client:complete`. */
export const complete = z.routed(
  z.computerCall({
    mcp_server: z.identifier,
    ref: z.union([
      z.looseObject({ type: z.literal("ref/prompt"), name: z.string() }),
      z.looseObject({ type: z.literal("ref/resource"), uri: z.string() }),
    ]),
    argument: z.looseObject({ name: z.string(), value: z.string() }),
    context: z.exactOptional(z.looseObject({
      arguments: z.exactOptional(z.mapOf(z.string())),
    })),
    timeout: z.exactOptional(z.timeoutSeconds),
  }),
  z.answer({
    completion: z.looseObject({
      values: z.listOf(z.string()),
      total: z.exactOptional(z.int()),
      hasMore: z.exactOptional(z.boolean()),
    }),
  }),
);
