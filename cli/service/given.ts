import type { Command, Option } from "commander";
import { hasPassword } from "../cluster_flags.ts";
import type { Variables } from "../env_file.ts";
import { isSwitch } from "../run.ts";

/** An option that somebody gave, as it was written. */
interface Given {
  readonly option: Option;
  /** Its value; absent for a switch. */
  readonly text?: string;
  readonly isEnv: boolean;
}

/** The options of a command that were given, on the command line or in the environment. */
export interface GivenOptions {
  /** Arguments that give them again; none is a credential. */
  readonly args: readonly string[];
  /** Credentials among them, as variables. */
  readonly secrets: Variables;
}

/** Returns a variable with the value of an option which is a credential. */
export type FindSecret = (
  flag: string,
  text: string,
) => readonly [variable: string, value: string] | undefined;

/**
 * Records the options of a command that are given; call it after all of them are added.
 *
 * @param except options that are left out
 * @param findSecret finds credentials; a URL with a password is one in any case
 * @returns reads the record, once the command is parsed
 */
export function recordGiven(
  command: Command,
  except: readonly string[],
  findSecret: FindSecret,
): () => GivenOptions {
  const given: Given[] = [];
  for (const option of command.options) {
    if (except.includes(option.long ?? "")) continue;
    for (const isEnv of [false, true]) {
      const event = `${isEnv ? "optionEnv" : "option"}:${option.name()}`;
      command.on(event, (text?: string | null) => {
        given.push({
          option,
          ...(typeof text === "string" && { text }),
          isEnv,
        });
      });
    }
  }
  return () => {
    const args: string[] = [];
    const secrets: Record<string, string> = {};
    for (
      const { option, text } of given.filter((one) => counts(command, one))
    ) {
      const flag = option.long ?? option.flags;
      const [variable, value] = text === undefined
        ? []
        : findSecret(flag, text) ?? passwordIn(option, text);
      if (variable !== undefined && value !== undefined) {
        secrets[variable] = value;
      } else args.push(text === undefined ? flag : `${flag}=${text}`);
    }
    return { args, secrets };
  };
}

/** Checks whether a variable is used: the command line is stronger, and switches can be off. */
function counts(command: Command, { option, isEnv }: Given): boolean {
  const key = option.attributeName();
  if (!isEnv) return true;
  return command.getOptionValueSource(key) === "env" &&
    (!isSwitch(option) || command.getOptionValue(key) === !option.negate);
}

const passwordIn = (
  { envVar }: Option,
  text: string,
): readonly [string, string] | [] =>
  envVar !== undefined && hasPassword(text) ? [envVar, text] : [];

/** Lists the variables that an argument replaces; those of credentials among the options stay. */
export const replacedBy = (
  { options }: Command,
  { args, secrets }: GivenOptions,
): string[] =>
  options.flatMap(({ long, envVar }) =>
    envVar !== undefined && secrets[envVar] === undefined &&
      args.some((text) => text === long || text.startsWith(`${long}=`))
      ? [envVar]
      : []
  );

/** Adds options that the variables of a service give, where this command line does not. */
export function withVariables<T extends object>(
  flags: T,
  command: Command,
  variables: Variables,
): T {
  const added: Record<string, unknown> = {};
  for (const option of command.options) {
    const { envVar = "", parseArg } = option;
    const key = option.attributeName();
    const text = variables[envVar];
    const source = command.getOptionValueSource(key);
    if (text === undefined || isSwitch(option)) continue;
    if (source !== undefined && source !== "default") continue;
    added[key] = parseArg ? parseArg(text, undefined) : text;
  }
  return { ...flags, ...added };
}
