import type { Command } from "commander";
import { NETWORK_VARIABLES } from "../../shared/network_variables.ts";
import { ENV_FILE_VARIABLE, type Variables } from "../env_file.ts";
import type { FindSecret } from "./given.ts";
import type { ServiceName } from "./service.ts";

/** What the checks of a role found. */
export interface RoleCheck {
  /** Variables that the service needs of this environment, and that may be credentials. */
  readonly variables: Variables;
  /** What a person should know. */
  readonly notes: readonly string[];
}

/** What a command is as a service. */
export interface ServiceRole<Flags extends object> {
  /** Its name. */
  readonly name: ServiceName;
  /** What it is, in a few words. */
  readonly summary: string;
  /** Options in the examples of the help. */
  readonly example: string;
  /** The words before the options. */
  readonly words: readonly string[];
  /** Adds the options of the command. */
  addFlags(command: Command): Command;
  /** Options that do nothing in a service. */
  readonly except: readonly string[];
  /** Finds credentials among the options. */
  readonly findSecret: FindSecret;
  /** Returns Deno's flags for the command. */
  permissions(flags: Flags): readonly string[];
  /**
   * Checks the options as the command itself would, as far as that is possible now.
   *
   * @param env this environment
   * @param kept further variables that the service has already
   * @throws {Error} for what the service would fail with
   */
  check(
    flags: Flags,
    env: Readonly<Record<string, string | undefined>>,
    kept: Variables,
  ): Promise<RoleCheck>;
}

/** Where programs and files of a user are; a service has a small environment of its own. */
const PLACES = [
  "PATH",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
  "XDG_CACHE_HOME",
  "A2C_SKILL_HOME",
  "DENO_DIR",
];

/** The variables of a service. */
export interface ServiceVariables {
  /** Those that everybody may see. */
  readonly open: Variables;
  /** Those for the file of credentials. */
  readonly secret: Variables;
}

/**
 * Picks what a service needs of this environment: without it, it would not find the programs that
 * are found here, or the network.
 */
export function pickVariables(
  env: Readonly<Record<string, string | undefined>>,
  envFile: string,
): ServiceVariables {
  const picked = [...PLACES, ...NETWORK_VARIABLES].flatMap(
    (name): [string, string][] => {
      const value = env[name];
      // Bash exports shell functions in this form; they are code.
      return value === undefined || value.startsWith("()")
        ? []
        : [[name, value]];
    },
  );
  // The address of a proxy may hold a password.
  const isSecret = ([name, value]: [string, string]) =>
    NETWORK_VARIABLES.includes(name) && value.includes("@");
  return {
    open: {
      ...Object.fromEntries(picked.filter((one) => !isSecret(one))),
      [ENV_FILE_VARIABLE]: envFile,
    },
    secret: Object.fromEntries(picked.filter(isSecret)),
  };
}
