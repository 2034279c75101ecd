/** The commands of the package by their names in npm, each with its entrypoint. */
const COMMANDS = {
  "smcp-server": "server/main",
  "smcp-computer": "computer/main",
  "smcp-agent": "agent/main",
  "smcp": "mod",
} as const;

/** A command of the package. */
export type CommandName = keyof typeof COMMANDS;

/** Where the code of the package comes from, as a module's URL shows it. */
export interface Origin {
  /** The URL of its folder. */
  readonly root: string;
  /** How the names of its modules end. */
  readonly extension: string;
  /** What `deno run` takes for it, such as `jsr:@scope/name@1.0.0`; absent for files. */
  readonly jsr?: string;
}

/**
 * Where `npm install --global` puts the package of the commands, on Unix and on Windows, and where
 * `bun add --global` does.
 */
const GLOBAL = /\/(lib|npm|global)\/node_modules\/@a2c-smcp\/cli\//;

const ROOT = /^(.*)\/cli\/own_command\.([jt]s)$/;
const JSR = /^https:\/\/jsr\.io\/(@[^/]+\/[^/]+)\/([^/]+)$/;

/**
 * Returns the command line that starts a command of the package the way this process was started, so
 * that it works when it is copied.
 *
 * @param program the value of `process.execPath`
 * @param module the URL of this module
 */
export const ownCommand = (
  name: CommandName,
  program: string,
  module: string = import.meta.url,
): string => ownWords(name, program, module).map(shellWord).join(" ");

/** Returns the words of {@linkcode ownCommand}, not quoted for a shell. */
export function ownWords(
  name: CommandName,
  program: string,
  module: string = import.meta.url,
): string[] {
  const origin = originOf(module);
  if (origin === undefined) return [name]; // bundled
  const runtime = runtimeOf(program);
  if (runtime === "node" || runtime === "bun") {
    if (GLOBAL.test(module)) return [name];
    // Never the name alone: where it is not installed, npx runs whatever has that name in npm.
    const run = runtime === "node" ? ["npx"] : ["bunx", "--bun"];
    return [...run, "-p", "@a2c-smcp/cli", name];
  }
  if (runtime === undefined) return [name]; // compiled
  return ["deno", "run", "-A", denoModule(name, origin)];
}

/** Returns where the package comes from; `undefined` if it is bundled. */
export function originOf(module = import.meta.url): Origin | undefined {
  const [, root, extension] = ROOT.exec(module) ?? [];
  if (root === undefined || extension === undefined) return undefined;
  const [, scope, version] = JSR.exec(root) ?? [];
  const jsr = scope !== undefined && { jsr: `jsr:${scope}@${version}` };
  return { root, extension, ...jsr };
}

/** Returns the runtime that a program is; `undefined` for a command that is compiled to a program. */
export const runtimeOf = (
  program: string,
): "node" | "deno" | "bun" | undefined =>
  (["node", "deno", "bun"] as const).find((name) =>
    RegExp(`\\b${name}(\\.exe)?$`).test(program)
  );

/** Returns the module of a command, as `deno run` takes it. */
export function denoModule(
  name: CommandName,
  { root, extension, jsr }: Origin,
): string {
  const entry = COMMANDS[name];
  return jsr === undefined
    ? pathOf(`${root}/${entry}.${extension}`)
    : `${jsr}${entry === "mod" ? "" : `/${entry}`}`;
}

/** Explains the short name of a command below a help text that uses it. */
export const commandHint = (
  name: CommandName,
  program: string,
): string => `\nHere ${name} is: ${ownCommand(name, program)}`;

/** Quotes a word for a POSIX shell where necessary. */
export const shellWord = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const pathOf = (url: string): string =>
  url.startsWith("file:")
    ? decodeURIComponent(new URL(url).pathname).replace(/^\/([A-Za-z]:)/, "$1")
    : url;
