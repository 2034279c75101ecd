import type { MCPServerPromptStringInput } from "../../protocol/mod.ts";
import { isRecord } from "../util/values.ts";
import { ENVIRONMENT_ID } from "../util/inputs.ts";
import type { ConfigPath } from "./problem.ts";

/** The values of variables in other programs' configurations. */
export interface ForeignContext {
  /** Value of `${workspaceFolder}`: the folder that the file belongs to. */
  readonly workspaceFolder: string;
  /** Value of `${userHome}`. */
  readonly userHome: string;
  /** Value of `${pathSeparator}`. */
  readonly pathSeparator: string;
}

/** Collects what is found while variables are replaced. */
export interface FoundVariables {
  /** Environment variables as inputs: their values are read when a server starts. */
  readonly inputs: MCPServerPromptStringInput[];
  /** Unsupported variables, including `${` and `}`. */
  readonly unknown: { readonly path: ConfigPath; readonly variable: string }[];
}

const VARIABLE = /\$\{([^}]*)\}/g;

/** What variables stand for, and which there are. */
interface VariableContext extends ForeignContext {
  readonly bare: boolean;
}

/** `${TOKEN}` and `${TOKEN:-default}` of Claude Code; lower-case names are left to the shell. */
const BARE_NAME = /^([A-Z_][A-Z0-9_]*)(?::-([^]*))?$/;

/**
 * Replaces the variables of VS Code, Cursor and Claude Code in every string of a value.
 *
 * `${env:NAME}` becomes the placeholder `${input:env:NAME}`, so that the value stays out of the
 * configuration, and a missing variable affects only one server.
 *
 * @param context.bare whether `${NAME}` is a variable too
 * @param found receives what is found
 * @param path of the value
 */
export function expandVariables(
  value: unknown,
  context: VariableContext,
  found: FoundVariables,
  path: ConfigPath,
): unknown {
  const inside = (item: unknown, key: string | number) =>
    expandVariables(item, context, found, [...path, key]);
  if (typeof value === "string") {
    return value.replaceAll(VARIABLE, (variable, name: string) => {
      const expanded = expandVariable(name, context, found);
      if (expanded === undefined) found.unknown.push({ path, variable });
      return expanded ?? variable;
    });
  }
  if (Array.isArray(value)) return value.map(inside);
  return isRecord(value)
    ? Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, inside(item, key)]),
    )
    : value;
}

function expandVariable(
  name: string,
  context: VariableContext,
  { inputs }: FoundVariables,
): string | undefined {
  if (name.startsWith("input:")) return `\${${name}}`;
  const [, bareName, fallback] = context.bare ? BARE_NAME.exec(name) ?? [] : [];
  const variable = name.startsWith("env:") ? name.slice(4) : bareName;
  if (variable === undefined) return knownVariable(name, context);
  const input = environmentInput(variable, fallback);
  inputs.push(input);
  return `\${input:${input.id}}`;
}

function knownVariable(
  name: string,
  { workspaceFolder, userHome, pathSeparator }: ForeignContext,
): string | undefined {
  switch (name) {
    case "workspaceFolder":
    case "workspaceRoot":
      return workspaceFolder;
    case "workspaceFolderBasename":
      return workspaceFolder.split(/[\\/]/).findLast((part) => part !== "") ??
        "";
    case "userHome":
      return userHome;
    case "pathSeparator":
    case "/":
      return pathSeparator;
    default:
      return undefined;
  }
}

const environmentInput = (
  name: string,
  fallback: string | undefined,
): MCPServerPromptStringInput => ({
  type: "promptString",
  id: `${ENVIRONMENT_ID}${name}`,
  description: `The environment variable ${name}`,
  password: true,
  ...(fallback !== undefined && { default: fallback }),
});
