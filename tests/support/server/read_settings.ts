import { runCommand } from "../../../cli/run.ts";
import { serverCommand } from "../../../server/cli/command.ts";
import type { Settings } from "../../../server/cli/flags.ts";

/** The result of parsing a command line of the server. */
export interface ReadSettings {
  /** Absent if it does not start. */
  readonly settings?: Settings;
  readonly exitCode: number;
  /** The lines that it wrote to stderr. */
  readonly errors: readonly string[];
}

/** Parses a command line of the server without starting it. */
export async function tryReadSettings(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ReadSettings> {
  let settings: Settings | undefined;
  let errors = "";
  const exitCode = await runCommand(
    () =>
      serverCommand(env, (read) => void (settings = read))
        .configureOutput({ writeErr: (text) => errors += text }),
    args,
    (line) => errors += `${line}\n`,
  );
  return {
    exitCode,
    errors: errors.split("\n").slice(0, -1),
    ...(settings && { settings }),
  };
}

/** Parses a valid command line; throws when the command would not start. */
export async function readSettings(
  ...line: Parameters<typeof tryReadSettings>
): Promise<Settings> {
  const { settings, errors } = await tryReadSettings(...line);
  if (settings === undefined) throw new Error(errors.join("\n"));
  return settings;
}
