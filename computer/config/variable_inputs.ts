/**
 * The variables of other programs' configurations: some are replaced by their value, those of the
 * environment by an input.
 *
 * @module
 */
import { mapTexts } from "./config.ts";
import type { ConfigPath } from "./problem.ts";
import { environmentId } from "../util/inputs.ts";
import type { MCPServerPromptStringInput } from "../../protocol/mod.ts";

/** The values of variables in other programs' configurations. */
export interface ForeignContext {
  /** Value of `${workspaceFolder}`: the folder that the file belongs to; undefined: it is asked for. */
  readonly workspaceFolder: string | undefined;
  /** Value of `${userHome}`. */
  readonly userHome: string;
  /** Value of `${pathSeparator}`. */
  readonly pathSeparator: string;
}

/** The variables of VS Code, Cursor and Claude Code. */
const VARIABLE = /\$\{([^}]*)\}/g;

/** The variables of a workspace, and what each is, for people. */
const WORKSPACE: Readonly<Record<string, string>> = {
  workspaceFolder: "The path of the project's folder",
  workspaceRoot: "The path of the project's folder",
  workspaceFolderBasename: "The name of the project's folder",
};

/** `${TOKEN}` and `${TOKEN:-default}` of Claude Code; lower-case names are left to the shell. */
const BARE_NAME = /^([A-Z_][A-Z0-9_]*)(?::-([^]*))?$/;

/**
 * Replaces the variables in `server_parameters`; unknown ones stay, and are listed.
 *
 * `${env:NAME}` becomes the placeholder `${input:env:NAME}`, so that the value stays out of the
 * configuration, and a missing variable affects only one server.
 *
 * @param inputs receives the variables that become inputs
 * @param isBare whether `${NAME}` is a variable of the environment, too
 */
export function replaceVariables(
  parameters: Record<string, unknown>,
  inputs: VariableInputs,
  isBare: boolean,
) {
  /** With the places of their texts; each with `${` and `}`. */
  const unknown: { path: ConfigPath; variable: string }[] = [];
  const value = mapTexts(parameters, (text, path) => {
    if (path[0] === "inherit_env") return text; // the schema refuses any text
    return text.replaceAll(VARIABLE, (variable, name: string) => {
      const replaced = inputs.replace(name, isBare);
      if (replaced === undefined) unknown.push({ path, variable });
      return replaced ?? variable;
    });
  });
  return { value, unknown };
}

/**
 * The inputs of a file of another program: those that it defines, and those that its variables
 * become. A variable of the environment has an input for each default, so that
 * `${PORT:-3000}` and `${PORT:-4000}` keep theirs.
 */
export class VariableInputs {
  /** Those that the variables became so far. */
  readonly added: MCPServerPromptStringInput[] = [];
  readonly #defined: ReadonlySet<unknown>;
  readonly #context: ForeignContext;

  /** @param defined the definitions of the file, not validated */
  constructor(defined: readonly unknown[], context: ForeignContext) {
    this.#defined = new Set(defined.map((input) => Object(input).id));
    this.#context = context;
  }

  /**
   * Returns the text that replaces a variable; undefined for an unknown one.
   *
   * @param name without `${` and `}`
   */
  replace(name: string, isBare: boolean): string | undefined {
    if (name.startsWith("input:")) return `\${${name}}`;
    const [, bareName, fallback] = isBare ? BARE_NAME.exec(name) ?? [] : [];
    const variable = name.startsWith("env:") ? name.slice(4) : bareName;
    return variable === undefined
      ? this.#ofWorkspace(name)
      : this.#ofEnvironment(variable, fallback);
  }

  #ofWorkspace(name: string): string | undefined {
    const { workspaceFolder, pathSeparator } = this.#context;
    if (workspaceFolder === undefined && Object.hasOwn(WORKSPACE, name)) {
      const id = name === "workspaceRoot" ? "workspaceFolder" : name;
      const description = WORKSPACE[id] ?? "";
      if (!this.#find(id)) {
        this.added.push({ type: "promptString", id, description });
      }
      return `\${input:${id}}`;
    }
    const folders = workspaceFolder?.split(/[\\/]/) ?? [];
    const known: Readonly<Record<string, string | undefined>> = {
      ...this.#context,
      workspaceRoot: workspaceFolder,
      workspaceFolderBasename: folders.findLast(Boolean) ?? "",
      "/": pathSeparator,
    };
    return Object.hasOwn(known, name) ? known[name] : undefined;
  }

  /** Without a default, any input of the variable will do. */
  #ofEnvironment(variable: string, fallback: string | undefined): string {
    for (let number = 1;; number++) {
      const id = environmentId(variable, number);
      const known = this.#find(id);
      if (known === undefined) {
        this.added.push({
          type: "promptString",
          id,
          description: `The environment variable ${variable}`,
          password: true,
          ...(fallback !== undefined && { default: fallback }),
        });
      }
      const isOther = typeof known === "object" && fallback !== undefined &&
        known.default !== fallback;
      if (!isOther) return `\${input:${id}}`;
    }
  }

  /** Returns an input by its id; one that the file defines as `defined`, since it has its own default. */
  #find(id: string): MCPServerPromptStringInput | "defined" | undefined {
    return this.#defined.has(id)
      ? "defined"
      : this.added.find((input) => input.id === id);
  }
}
