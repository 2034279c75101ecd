import { runCommand } from "../../../cli/run.ts";
import { serverCommand } from "../../../server/cli/command.ts";
import type { Settings } from "../../../server/cli/settings.ts";

/** What the server's command makes of a command line. */
export interface ReadSettings {
  /** Absent when it does not serve. */
  readonly settings?: Settings;
  readonly exitCode: number;
  /** The lines that it wrote to stderr. */
  readonly errors: readonly string[];
}

/** Lets the server's command read a command line; nothing is served. */
export async function tryReadSettings(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ReadSettings> {
  let settings: Settings | undefined;
  let errors = "";
  const make = () =>
    serverCommand(env, (read) => {
      settings = read;
    }).configureOutput({ writeErr: (text) => errors += text });
  const exitCode = await runCommand(
    make,
    args,
    (line) => errors += `${line}\n`,
  );
  return {
    exitCode,
    errors: errors.split("\n").slice(0, -1),
    ...(settings && { settings }),
  };
}

/**
 * Reads a command line that is right.
 *
 * @throws {Error} when the command does not serve
 */
export async function readSettings(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Settings> {
  const { settings, errors } = await tryReadSettings(args, env);
  if (settings === undefined) throw new Error(errors.join("\n"));
  return settings;
}
