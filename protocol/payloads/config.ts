/**
 * The configuration of MCP servers as an Agent sees it (protocol §4); `config_file.ts` has the stricter form of
 * a file.
 *
 * @module
 */
import * as z from "../validation.ts";
import { inputSchema, type MCPServerInput } from "./inputs.ts";
import {
  type AgentCallData,
  type TOOL_NAME,
  type ToolMeta,
  toolMetaSchema,
} from "./tools.ts";

/** The name of an MCP server at its Computer (protocol §4). */
export type SERVER_NAME = string;

/** The common fields of the three kinds of MCP server configuration (protocol §4). */
export interface BaseMCPServerConfig {
  /** For people; the key in `servers` of 0.2. Empty in a file: the derived `bundle_id`. */
  name: string;
  /** What identifies it since 0.3; absent or `null`: derived from the name. */
  bundle_id?: string | null;
  /** Whether the server is disabled: never started, its tools neither listed nor callable. */
  disabled: boolean;
  /** Original names of tools that are neither listed nor callable. */
  forbidden_tools: string[];
  /** By original tool name; each field overrides that of `default_tool_meta` (protocol §7). */
  tool_meta: Record<TOOL_NAME, ToolMeta>;
  /** Defaults for fields that `tool_meta` does not set; an `alias` here is an error. */
  default_tool_meta?: ToolMeta | null;
  /** The prefix of the names of tools without an `alias`; `"auto"`: the server's name and `_`. */
  tool_prefix?: string | null;
  /** A VRL program that transforms each result (protocol §7). */
  vrl?: string | null;
}

/** The parameters of an MCP server that is a child process (protocol §4). */
export interface MCPServerStdioParameters {
  /** The program. */
  command: string;
  /** Its arguments. */
  args: string[];
  /** Added to the MCP SDK's default environment; never the Computer's whole one. */
  env: Record<string, string> | null;
  /** Whether to pass the Computer's variables for certificate authorities and proxies; default `true`. */
  inherit_env?: boolean | null;
  /** The working directory; null means that of the Computer. */
  cwd: string | null;
  /** The encoding of its output; default `utf-8`. */
  encoding: string;
  /** How to handle bytes that are invalid in `encoding`. */
  encoding_error_handler: "strict" | "ignore" | "replace";
}

/** An MCP server that is a child process (protocol §4). */
export interface MCPServerStdioConfig extends BaseMCPServerConfig {
  /** The discriminator. */
  type: "stdio";
  /** The parameters of its process. */
  server_parameters: MCPServerStdioParameters;
}

/** A value of a request header. */
export type HeaderValue = string | number | boolean;

/**
 * The client as which a Computer signs in to an MCP server over HTTP; in the configuration of a
 * Computer alone, never in what Agents see.
 */
export interface OAuthClientParameters {
  /** The id of a registered client, or the `https:` address of a document about it; default: the Computer registers one. */
  client_id?: string | null;
  /** The secret of that client. */
  client_secret?: string | null;
  /** The scopes to ask for first; default: those that the MCP server names. */
  scopes?: string[] | null;
  /** The port of the redirect address, `http://localhost:PORT/callback`; default: any, at `127.0.0.1`. */
  callback_port?: number | null;
}

/** The parameters of an MCP server over Streamable HTTP (protocol §4). */
export interface MCPServerStreamableHttpParameters {
  /** The endpoint, `http:` or `https:`. */
  url: string;
  /** Headers of each request. */
  headers: Record<string, HeaderValue> | null;
  /** Timeout of a request, ISO 8601; default `PT30S`. */
  timeout: string;
  /** Timeout of a silent event stream, ISO 8601; default `PT300S`. */
  sse_read_timeout: string;
  /** Whether to end the MCP session when the Computer disconnects. */
  terminate_on_close: boolean;
  /** The client as which the Computer signs in. */
  oauth?: OAuthClientParameters | null;
}

/** An MCP server over Streamable HTTP; `http` is read as `streamable` (protocol §4). */
export interface MCPServerStreamableHttpConfig extends BaseMCPServerConfig {
  /** The discriminator. */
  type: "streamable";
  /** The parameters of its connection. */
  server_parameters: MCPServerStreamableHttpParameters;
}

/** The parameters of an MCP server over HTTP with SSE (protocol §4). */
export interface MCPSSEParameters {
  /** The event stream's address, `http:` or `https:`. */
  url: string;
  /** Headers of each request. */
  headers: Record<string, HeaderValue> | null;
  /** Timeout of a request in seconds; default 5. */
  timeout: number;
  /** Timeout of a silent event stream in seconds; default 300. */
  sse_read_timeout: number;
  /** The client as which the Computer signs in. */
  oauth?: OAuthClientParameters | null;
}

/** An MCP server over HTTP with SSE (protocol §4). */
export interface MCPSSEConfig extends BaseMCPServerConfig {
  /** The discriminator. */
  type: "sse";
  /** The parameters of its connection. */
  server_parameters: MCPSSEParameters;
}

/** The configuration of an MCP server (protocol §4). */
export type MCPServerConfig =
  | MCPServerStdioConfig
  | MCPServerStreamableHttpConfig
  | MCPSSEConfig;

/** Requests a Computer's configuration (protocol §4). */
export interface GetComputerConfigReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
}

/** A Computer's configuration without secrets (protocol §4, §7). */
export interface GetComputerConfigRet {
  /** The definitions of placeholders, never their values. */
  inputs?: MCPServerInput[] | null;
  /** By name. */
  servers: Record<SERVER_NAME, MCPServerConfig>;
  /** The names of MCP servers of a type that the wire lacks, which `servers` leaves out. */
  other_servers?: SERVER_NAME[] | null;
}

/** Reports a change of a Computer's configuration, tools, desktop or documents (protocol §3). */
export interface UpdateComputerConfigReq {
  /** Its own name. */
  computer: string;
}

/** Notifies of a change of a Computer's configuration; named as in other SDKs (protocol §3). */
export type UpdateMCPConfigNotification = UpdateComputerConfigReq;

/** Reports a change of a Computer's tools, and notifies of it; named as in other SDKs (protocol §3). */
export type UpdateToolListNotification = UpdateComputerConfigReq;

/** @internal A string with a placeholder is checked when the server starts, after substitution. */
export const hasPlaceholder = (text: string): boolean => text.includes("${");

const headers = z._default(
  z.nullable(z.mapOf(z.union([z.string(), z.number(), z.boolean()]))),
  null,
);
const seconds = z.number().check(z.positive());
const on = (initially: boolean) => z._default(z.boolean(), initially);

/** @internal The characters that all model providers accept in the name of a tool. */
export const TOOL_PREFIX: RegExp = /^[A-Za-z0-9_-]{1,64}$/;

/** @internal */
export const toolPrefix = z.string().check(z.refine(
  (text) => hasPlaceholder(text) || TOOL_PREFIX.test(text),
  'expected "auto", or 1 to 64 letters, digits, "_" and "-"',
));

/** @internal The fields of every kind. */
export const base = {
  // Empty at Computers of other SDKs, where a name is for people alone (protocol §13).
  name: z.textOf(0, 256),
  bundle_id: z.maybe(z.bundleId),
  disabled: on(false),
  forbidden_tools: z._default(z.listOf(z.string()), []),
  tool_meta: z._default(z.mapOf(toolMetaSchema), {}),
  default_tool_meta: z.maybe(toolMetaSchema),
  tool_prefix: z.maybe(toolPrefix),
  vrl: z.maybe(z.string()),
};

/** @internal */
export const stdio = z.looseObject({
  ...base,
  type: z.literal("stdio"),
  server_parameters: z.looseObject({
    command: z.string().check(z.minLength(1, "expected the program to start")),
    args: z._default(z.listOf(z.string()), []),
    env: z._default(z.nullable(z.mapOf(z.string())), null),
    inherit_env: z.maybe(z.boolean()),
    cwd: z._default(z.nullable(z.string()), null),
    encoding: z._default(z.string(), "utf-8"),
    encoding_error_handler: z._default(
      z.enum(["strict", "ignore", "replace"]),
      "strict",
    ),
  }),
});

/** @internal The client of a sign-in: nothing is said of it on the wire, so that peers may send anything. */
type OAuthSchema = z.ZodMiniType<OAuthClientParameters | null>;

const anyOAuth: OAuthSchema = z.custom<OAuthClientParameters | null>();

/** @internal */
export const streamable = (
  url: z.ZodMiniString,
  duration: z.ZodMiniString,
  oauth: OAuthSchema,
) =>
  z.looseObject({
    ...base,
    type: z.pipe(
      z.enum(["streamable", "http"]),
      z.transform(() => "streamable" as const),
    ),
    server_parameters: z.looseObject({
      url,
      headers,
      timeout: z._default(duration, "PT30S"),
      sse_read_timeout: z._default(duration, "PT300S"),
      terminate_on_close: on(true),
      oauth: z.exactOptional(oauth),
    }),
  });

/** @internal */
export const sse = (url: z.ZodMiniString, oauth: OAuthSchema) =>
  z.looseObject({
    ...base,
    type: z.literal("sse"),
    server_parameters: z.looseObject({
      url,
      headers,
      timeout: z._default(seconds, 5),
      sse_read_timeout: z._default(seconds, 300),
      oauth: z.exactOptional(oauth),
    }),
  });

/** The parsers of `client:get_config`. */
export const getConfig = z.routed(
  z.computerCall({}),
  z.looseObject({
    inputs: z.maybe(z.listOf(inputSchema)),
    servers: z.mapOf(
      z.discriminatedUnion("type", [
        stdio,
        streamable(z.string(), z.string(), anyOAuth),
        sse(z.string(), anyOAuth),
      ]),
    ),
    other_servers: z.maybe(z.listOf(z.string())),
  }),
);

/** Parses an {@linkcode UpdateComputerConfigReq}. */
export const parseUpdateComputerConfigReq = z.parser(z.looseObject({
  computer: z.memberName,
}));
