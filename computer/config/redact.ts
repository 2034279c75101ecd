import {
  type BaseMCPServerConfig,
  type GetComputerConfigRet,
  type MCPServerConfig,
  type MCPServerInput,
  pickOptions,
} from "../../protocol/mod.ts";
import { bundleIdOf, type ServerConfig } from "./config.ts";
import { commandLine } from "./command_input.ts";
import {
  redactArguments,
  REDACTED,
  redactUrl,
  redactValue,
} from "../util/secrets.ts";

/** How the office names what is in a configuration. */
interface ConfigForm {
  /** Whether it has the `bundle_id` of servers and the labels of options, as since 0.3. */
  readonly bundleIds: boolean;
  /** Returns the key of the server with a `bundle_id`. */
  addressOf(bundleId: string): string;
}

/**
 * Redacts a Computer's configuration for Agents (spec §7).
 *
 * Copies known fields only: an unknown one could contain anything. Leaves out MCP servers in
 * process: the wire has no type for them, and peers reject unknown types.
 *
 * @param form default: that of 0.2
 */
export function redactConfig(
  servers: readonly ServerConfig[],
  inputs: readonly MCPServerInput[],
  form?: ConfigForm,
): GetComputerConfigRet {
  const bundleIds = form?.bundleIds ?? false;
  return {
    inputs: inputs.map((input) => inForm(redactInput(input), bundleIds)),
    servers: Object.fromEntries(
      servers.flatMap((config) => {
        if (config.type === "in-process") return [];
        const bundleId = bundleIdOf(config);
        const shown = redactServer(config);
        return [[
          form?.addressOf(bundleId) ?? config.name,
          bundleIds ? { bundle_id: bundleId, ...shown } : shown,
        ]];
      }),
    ),
  };
}

/** Writes the options of a pickString as the version of the office has them (0.4 §9). */
function inForm(input: MCPServerInput, bundleIds: boolean): MCPServerInput {
  if (input.type !== "pickString") return input;
  const options = pickOptions(input);
  return {
    ...input,
    options: bundleIds ? options : options.map(({ value }) => value),
  };
}

function redactServer(config: MCPServerConfig): MCPServerConfig {
  const base = redactBase(config);
  if (config.type === "stdio") {
    const { args, env } = config.server_parameters;
    const server_parameters = {
      ...only(config.server_parameters, STDIO_FIELDS),
      args: redactArguments(args),
      env: env && mapValues(env, redactValue),
    };
    return { ...base, type: "stdio", server_parameters };
  }
  const { url, headers } = config.server_parameters;
  const shown = {
    url: redactUrl(url),
    headers: headers && mapValues(headers, redactValue),
  };
  if (config.type === "sse") {
    const known = only(config.server_parameters, SSE_FIELDS);
    return { ...base, type: "sse", server_parameters: { ...known, ...shown } };
  }
  const known = only(config.server_parameters, STREAMABLE_FIELDS);
  return {
    ...base,
    type: "streamable",
    server_parameters: { ...known, ...shown },
  };
}

const STDIO_FIELDS = [
  "command",
  "args",
  "env",
  "inherit_env",
  "cwd",
  "encoding",
  "encoding_error_handler",
] as const;
const SSE_FIELDS = ["url", "headers", "timeout", "sse_read_timeout"] as const;
const STREAMABLE_FIELDS = [...SSE_FIELDS, "terminate_on_close"] as const;
const META_FIELDS = [
  "auto_apply",
  "alias",
  "tags",
  "ret_object_mapper",
] as const;
const BASE_FIELDS = [
  "name",
  "disabled",
  "forbidden_tools",
  "tool_meta",
  "default_tool_meta",
  "tool_prefix",
  "vrl",
] as const;

function redactBase(config: BaseMCPServerConfig): BaseMCPServerConfig {
  const { tool_meta, default_tool_meta } = config;
  return {
    ...only(config, BASE_FIELDS),
    tool_meta: mapValues(tool_meta, (meta) => only(meta, META_FIELDS)),
    ...(default_tool_meta &&
      { default_tool_meta: only(default_tool_meta, META_FIELDS) }),
  };
}

/** Redacts the definition of an input. */
export function redactInput(input: MCPServerInput): MCPServerInput {
  switch (input.type) {
    case "promptString": {
      const shown = only(input, [...TEXT_FIELDS, "default", "password"]);
      if (input.password) delete shown.default;
      return shown;
    }
    case "pickString":
      return only(input, [...TEXT_FIELDS, "options", "default"]);
    case "command": {
      const { command, args } = input;
      const isShell = commandLine(input).kind === "shell";
      return {
        ...only(input, TEXT_FIELDS),
        command: isShell ? redactShellLine(command) : command,
        ...(args !== undefined && { args: redactInputArgs(args) }),
      };
    }
  }
}

const TEXT_FIELDS = ["type", "id", "description"] as const;

/** Keeps only the program's name: the rest may contain a secret anywhere and in any form. */
function redactShellLine(line: string): string {
  const [program = "", ...rest] = line.trim().split(/\s+/);
  if (!/^[\w.~:/\\-]+$/.test(program)) return REDACTED;
  return rest.length === 0 ? program : `${program} ${REDACTED}`;
}

function redactInputArgs(
  args: string[] | Record<string, string> | null,
): string[] | Record<string, string> | null {
  if (args === null) return null;
  if (Array.isArray(args)) return redactArguments(args);
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => {
      const [, shown = value] = redactArguments([`--${name}`, value]);
      return [name, shown];
    }),
  );
}

const mapValues = <T, U>(
  record: Record<string, T>,
  map: (value: T) => U,
): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([k, v]) => [k, map(v)]));

/** Copies fields, in their order, as far as they are set; they include all that the type requires. */
const only = <T extends object>(
  value: T,
  fields: readonly (keyof T)[],
): T =>
  Object.fromEntries(
    fields.filter((field) => value[field] !== undefined)
      .map((field) => [field, value[field]]),
  ) as T;
