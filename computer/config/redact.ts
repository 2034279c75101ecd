import {
  type BaseMCPServerConfig,
  type GetComputerConfigRet,
  type MCPServerConfig,
  type MCPServerInput,
  pickOptions,
  type ToolMeta,
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
export interface ConfigForm {
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
  switch (config.type) {
    case "stdio": {
      const { command, args, env, inherit_env, cwd } = config.server_parameters;
      const { encoding, encoding_error_handler } = config.server_parameters;
      return {
        ...redactBase(config),
        type: "stdio",
        server_parameters: {
          command,
          args: redactArguments(args),
          env: env && mapValues(env, redactValue),
          ...(inherit_env !== undefined && { inherit_env }),
          cwd,
          encoding,
          encoding_error_handler,
        },
      };
    }
    case "streamable": {
      const { url, headers, timeout, sse_read_timeout, terminate_on_close } =
        config.server_parameters;
      return {
        ...redactBase(config),
        type: "streamable",
        server_parameters: {
          url: redactUrl(url),
          headers: headers && mapValues(headers, redactValue),
          timeout,
          sse_read_timeout,
          terminate_on_close,
        },
      };
    }
    case "sse": {
      const { url, headers, timeout, sse_read_timeout } =
        config.server_parameters;
      return {
        ...redactBase(config),
        type: "sse",
        server_parameters: {
          url: redactUrl(url),
          headers: headers && mapValues(headers, redactValue),
          timeout,
          sse_read_timeout,
        },
      };
    }
  }
}

function redactBase(config: MCPServerConfig): BaseMCPServerConfig {
  const { name, disabled, forbidden_tools, tool_meta } = config;
  const { default_tool_meta, tool_prefix, vrl } = config;
  return {
    name,
    disabled,
    forbidden_tools,
    tool_meta: mapValues(tool_meta, knownToolMeta),
    ...(default_tool_meta !== undefined && {
      default_tool_meta: default_tool_meta && knownToolMeta(default_tool_meta),
    }),
    ...(tool_prefix !== undefined && { tool_prefix }),
    ...(vrl !== undefined && { vrl }),
  };
}

function knownToolMeta(meta: ToolMeta): ToolMeta {
  const { auto_apply, alias, tags, ret_object_mapper } = meta;
  return withoutUndefined({ auto_apply, alias, tags, ret_object_mapper });
}

/** Redacts the definition of an input. */
export function redactInput(input: MCPServerInput): MCPServerInput {
  const { id, description } = input;
  switch (input.type) {
    case "promptString":
      return {
        type: input.type,
        id,
        description,
        ...withoutUndefined({
          default: input.password ? undefined : input.default,
          password: input.password,
        }),
      };
    case "pickString":
      return {
        type: input.type,
        id,
        description,
        options: input.options,
        ...withoutUndefined({ default: input.default }),
      };
    case "command":
      return {
        type: input.type,
        id,
        description,
        command: commandLine(input).kind === "shell"
          ? redactShellLine(input.command)
          : input.command,
        ...(input.args !== undefined && { args: redactInputArgs(input.args) }),
      };
  }
}

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

const withoutUndefined = <T extends Record<string, unknown>>(
  record: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined),
  ) as { [K in keyof T]?: Exclude<T[K], undefined> };
