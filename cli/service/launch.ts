import {
  type CommandName,
  denoModule,
  originOf,
  runtimeOf,
} from "../own_command.ts";
import type { ServiceName } from "./service.ts";

/** How this process was started. */
export interface Start {
  /** The value of `process.execPath`. */
  readonly program: string;
  /** The value of `process.argv`. */
  readonly argv: readonly string[];
  /** The URL of `cli/own_command`; default: its own. */
  readonly module?: string;
}

/** Where Deno keeps packages of npm that belong to no folder. */
const DENO_NPM = /\/npm\/[^/]+\/(@[^/]+\/[^/]+)\/([^/]+)\//;
/** Where npx and bunx keep packages for a while. */
const FETCHED = /[\\/](_npx|bunx-\d+-[^\\/]*)[\\/]/;

/**
 * Returns the program and the arguments that start a command of the package again, from this very
 * code and runtime.
 *
 * Every way to start the package is known by the program, the URL of its code, and the first words
 * of the command line: `smcp` passes on what follows the name of a role.
 *
 * @param permissions the flags of Deno for the command
 * @throws {Error} when the code does not stay where it is
 */
export function launchOf(
  name: ServiceName,
  { program, argv: [, script = "", first], module }: Start,
  permissions: readonly string[],
): string[] {
  const role = name.replace("smcp-", "");
  const viaSmcp = first === role ? [role] : [];
  const runtime = runtimeOf(program);
  if (runtime === undefined) return [program, ...viaSmcp]; // compiled
  if (FETCHED.test(script)) {
    const [runner, install] = runtime === "bun"
      ? ["bunx", "bun add"]
      : ["npx", "npm install"];
    throw new Error(
      `Cannot start ${script} as a service: it is in the cache of ${runner}, which does not last; install the commands with "${install} --global @a2c-smcp/cli", and call ${name} without ${runner}`,
    );
  }
  if (runtime !== "deno") return [program, script, ...viaSmcp];
  const origin = originOf(module);
  const deno = [program, "run", ...permissions];
  if (origin === undefined) return [...deno, script, ...viaSmcp]; // bundled
  return [...deno, npmModule(name, origin.root) ?? denoModule(name, origin)];
}

/** Returns the name of a command in a package of npm that Deno keeps. */
function npmModule(name: CommandName, root: string): string | undefined {
  const [, scope, version] = DENO_NPM.exec(root) ?? [];
  return scope === undefined ? undefined : `npm:${scope}@${version}/${name}`;
}
