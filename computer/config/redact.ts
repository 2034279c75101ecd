import {
  type GetComputerConfigRet,
  type HeaderValue,
  type MCPServerCommandInput,
  type MCPServerConfig,
  type MCPServerInput,
  pickOptions,
} from "../../protocol/mod.ts";
import {
  serverFields,
  toolMetaFields,
} from "../../protocol/payloads/config_file.ts";
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
 * Redacts a Computer's configuration for Agents (protocol §7).
 *
 * Copies known fields only: an unknown one could contain anything. Of MCP servers in process there
 * are the names alone: the wire has no type for them, and peers reject unknown types.
 *
 * @param form default: that of 0.2
 */
export function redactConfig(
  servers: readonly ServerConfig[],
  inputs: readonly MCPServerInput[],
  form?: ConfigForm,
): GetComputerConfigRet {
  const bundleIds = form?.bundleIds ?? false;
  const shown: [address: string, config: MCPServerConfig][] = [];
  const others: string[] = [];
  for (const config of servers) {
    const bundleId = bundleIdOf(config);
    const address = form?.addressOf(bundleId) ?? config.name;
    if (config.type === "in-process") {
      others.push(address);
      continue;
    }
    const redacted = redactServer(config);
    shown.push([
      address,
      bundleIds ? { bundle_id: bundleId, ...redacted } : redacted,
    ]);
  }
  return {
    inputs: inputs.map((input) => inForm(redactInput(input), bundleIds)),
    servers: Object.fromEntries(shown),
    ...(others.length > 0 && { other_servers: others }),
  };
}

/** Writes the options of a pickString as the version of the office has them (protocol §4). */
function inForm(input: MCPServerInput, bundleIds: boolean): MCPServerInput {
  if (input.type !== "pickString") return input;
  const options = pickOptions(input);
  return {
    ...input,
    options: bundleIds ? options : options.map(({ value }) => value),
  };
}

function redactServer(config: MCPServerConfig): MCPServerConfig {
  const { type, tool_meta, default_tool_meta } = config;
  const { own = [], parameters = [] } = serverFields.get(type) ?? {};
  const { bundle_id: _, ...shown } = only(config, own);
  return {
    ...shown,
    tool_meta: mapValues(tool_meta, (meta) => only(meta, toolMetaFields)),
    ...(default_tool_meta &&
      { default_tool_meta: only(default_tool_meta, toolMetaFields) }),
    server_parameters: {
      ...only(config.server_parameters, parameters.filter(isShown)),
      ...redactedParameters(config),
    },
  } as MCPServerConfig;
}

/** Peers have no field for the client of a sign-in, and it may have a secret. */
const isShown = (parameter: string): boolean => parameter !== "oauth";

function redactedParameters({ type, server_parameters }: MCPServerConfig) {
  if (type === "stdio") {
    const { args, env } = server_parameters;
    return { args: redactArguments(args), env: redactValues(env) };
  }
  const { url, headers } = server_parameters;
  return { url: redactUrl(url), headers: redactValues(headers) };
}

const redactValues = (values: Record<string, HeaderValue> | null) =>
  values && mapValues(values, redactValue);

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
      const isShell = commandLine(input).args === undefined;
      return {
        ...only(input, TEXT_FIELDS),
        command: isShell ? redactShellLine(command) : command,
        ...(args !== undefined && { args: args && redactInputArgs(args) }),
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
  args: NonNullable<MCPServerCommandInput["args"]>,
): string[] | Record<string, string> {
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
const only = <T extends object>(value: T, fields: readonly string[]): T =>
  Object.fromEntries(
    fields.map((field) => [field, Reflect.get(value, field)])
      .filter(([, value]) => value !== undefined),
  ) as T;
