/**
 * Makes single binaries of the commands.
 *
 * A command is bundled first, into one folder of plain JavaScript with a file for each part that is
 * loaded when it is used, and then compiled: `deno compile` by itself embeds whole packages, with
 * their type declarations and source maps, which is five times the size. What is embedded is
 * exactly that folder, so a test can run it as the binary would.
 *
 * @module
 */
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { run } from "../process.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Time limit for a compilation, which downloads the runtime of the target once. */
const COMPILE_TIMEOUT_MS = 1_800_000;

/** The commands: their entries, and the permissions of their binaries. */
export const COMMANDS = {
  "smcp-server": {
    entry: "server/main.ts",
    permissions: [
      "--allow-net",
      "--allow-env",
      "--allow-read",
      "--allow-write",
    ],
  },
  "smcp-agent": { entry: "agent/main.ts", permissions: ["-A"] },
  "smcp-computer": { entry: "computer/main.ts", permissions: ["-A"] },
  "smcp": { entry: "main.ts", permissions: ["-A"] },
} as const;

/** A command of which a binary is made. */
export type Command = keyof typeof COMMANDS;

/** The platforms of a release, as `deno compile --target` names them. */
export const TARGETS: readonly string[] = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
];

/** A command as JavaScript, before a runtime is added. */
export interface Bundle {
  /** The module to run. */
  readonly main: string;
  /** Bytes of all its files. */
  readonly bytes: number;
  /** Names of the npm packages in it, sorted. */
  readonly packages: readonly string[];
}

/** The bundler begins the code of each module with a comment like `// …/npm/REGISTRY/NAME/VERSION/FILE`. */
const MODULE_OF_PACKAGE =
  /^\/\/ (?:.*\/)?npm\/[^/]+\/((?:@[^/]+\/)?[^/]+)\/\d[^/]*\//gm;

/** Bundles a command into a folder, which is emptied first. */
export async function bundle(
  command: Command,
  folder: string,
): Promise<Bundle> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  const { entry } = COMMANDS[command];
  const output = ["--code-splitting", "--outdir", folder];
  await run("deno", ["bundle", "--quiet", "--frozen", ...output, entry], root);
  let bytes = 0;
  const packages = new Set<string>();
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(join(folder, name));
    bytes += new TextEncoder().encode(text).length;
    for (const [, found = ""] of text.matchAll(MODULE_OF_PACKAGE)) {
      packages.add(found);
    }
  }
  const main = join(folder, "main.js");
  return { main, bytes, packages: [...packages].sort() };
}

/**
 * Compiles a bundled command.
 *
 * @param target a platform of {@linkcode TARGETS}; this one if it is absent
 * @param output path of the binary; for Windows, Deno appends `.exe`
 */
export async function compile(
  command: Command,
  { main }: Bundle,
  output: string,
  target?: string,
): Promise<void> {
  await run(
    "deno",
    [
      ...["compile", "--no-config", "--no-lock", "--no-check"],
      ...(target === undefined ? [] : ["--target", target]),
      ...COMMANDS[command].permissions,
      ...["--output", output, main],
    ],
    root,
    COMPILE_TIMEOUT_MS,
  );
}

/** The request of a command line. */
export interface Request {
  readonly commands: readonly Command[];
  /** The named targets; none for this platform, or for all. */
  readonly targets: readonly string[];
  readonly folder: string;
}

/**
 * Reads the arguments of the tasks `compile` and `release`: names of commands (none: all), `--target`
 * (may be repeated) and `--out`; ends the process with the exit code 2 where one is wrong.
 *
 * @param folder the place of the results without `--out`
 */
export function readArgs(args: readonly string[], folder: string): Request {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        target: { type: "string", multiple: true, default: [] },
        out: { type: "string", default: join(root, folder) },
      },
    });
    const commands = known("command", positionals, Object.keys(COMMANDS));
    return {
      commands:
        (commands.length === 0 ? Object.keys(COMMANDS) : commands) as Command[],
      targets: known("target", values.target, TARGETS),
      folder: resolve(values.out),
    };
  } catch (error) {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    Deno.exit(2);
  }
}

function known(
  what: string,
  names: readonly string[],
  all: readonly string[],
): readonly string[] {
  const unknown = names.find((name) => !all.includes(name));
  if (unknown === undefined) return names;
  throw new Error(`"${unknown}" is no ${what}; use ${all.join(", ")}`);
}
