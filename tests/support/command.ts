import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Child, start } from "./child.ts";

/** The commands of the package. */
export type CommandName = "agent" | "computer" | "server";

/** Those that run in this process as well; `up` is of `smcp`. */
export type HereName = CommandName | "up" | "clients";

/** The result of a command. */
export interface CommandEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of a command. */
export interface CommandOptions {
  /** Environment variables, added to an environment without SMCP_ variables. */
  env?: Record<string, string>;
  /** The text of its stdin. */
  input?: string;
  cwd?: string;
  /** The path from the root of a module that is run first. */
  preload?: string;
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Returns how to start a command from the source. */
export const argumentsOf = (
  name: CommandName,
  args: readonly string[],
): string[] => argumentsOfFile(`${name}/main.ts`, args);

const argumentsOfFile = (
  file: string,
  args: readonly string[],
  preload?: string,
): string[] => [
  ...["run", "-A", "--quiet", "--frozen"],
  ...(preload === undefined ? [] : ["--preload", `${root}${preload}`]),
  ...["--config", `${root}deno.json`, `${root}${file}`, ...args],
];

/** Runs a command to its end, without a terminal. */
export const runMain = (
  name: CommandName,
  args: readonly string[],
  options?: CommandOptions,
): Promise<CommandEnd> => runFile(`${name}/main.ts`, args, options);

/**
 * Runs a program of the repository to its end, without a terminal.
 *
 * @param file its path from the root
 */
export async function runFile(
  file: string,
  args: readonly string[],
  { env = {}, input, cwd, preload }: CommandOptions = {},
): Promise<CommandEnd> {
  const child = new Deno.Command(Deno.execPath(), {
    args: argumentsOfFile(file, args, preload),
    clearEnv: true,
    env: { ...bareEnvironment(), NO_COLOR: "1", ...env },
    ...(cwd !== undefined && { cwd }),
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  if (input !== undefined) await new Blob([input]).stream().pipeTo(child.stdin);
  const { code, stdout, stderr } = await child.output();
  const [out, err] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  return { code, stdout: `${out}`, stderr: `${err}` };
}

/**
 * Runs a command in this process, without a terminal: fast, for those that end by themselves, and start
 * nothing that outlives them, and need no environment of their own: it is that of all realms of
 * `deno test --parallel`. Only one at a time.
 */
export async function runHere(
  name: HereName,
  args: readonly string[],
): Promise<CommandEnd> {
  const run = await COMMANDS[name]();
  const stdout: string[] = [];
  const stderr: string[] = [];
  const { log, error } = console;
  const { exit } = process;
  const out = process.stdout.write;
  const err = process.stderr.write;
  const before = new Set(listeners().map(([, listener]) => listener));
  const take = (texts: string[]) => (text: string | Uint8Array) =>
    texts.push(String(text)) > 0;
  console.log = (...texts) => void stdout.push(`${texts.join(" ")}\n`);
  console.error = (...texts) => void stderr.push(`${texts.join(" ")}\n`);
  process.stdout.write = take(stdout);
  process.stderr.write = take(stderr);
  process.exit = (code) => {
    throw new Exited(Number(code));
  };
  try {
    const code = await run(args).catch((error) => {
      if (error instanceof Exited) return error.code;
      throw error;
    });
    return { code, stdout: stdout.join(""), stderr: stderr.join("") };
  } finally {
    Object.assign(console, { log, error });
    Object.assign(process.stdout, { write: out });
    Object.assign(process.stderr, { write: err });
    process.exit = exit;
    for (const [event, listener] of listeners()) {
      if (!before.has(listener)) process.off(event, listener);
    }
  }
}

/** What a command may listen to in its process, and leaves to its end. */
const listeners = () =>
  ["SIGHUP", "SIGINT", "SIGTERM", "uncaughtException", "unhandledRejection"]
    .flatMap((event) =>
      process.listeners(event as "SIGINT").map((listener) =>
        [event, listener as (...args: unknown[]) => void] as const
      )
    );

/** Thrown in place of the end of the process. */
class Exited extends Error {
  constructor(readonly code: number) {
    super("exited");
  }
}

const noMcp = () => Promise.reject(new Error("MCP needs a process"));

/** Loads the commands. */
const COMMANDS: Record<
  HereName,
  () => Promise<(args: readonly string[]) => Promise<number>>
> = {
  async agent() {
    const { runAgent } = await import("../../agent/cli/command.ts");
    return (args) => runAgent(args, noMcp);
  },
  computer: async () =>
    (await import("../../computer/cli/command.ts")).runComputer,
  async server() {
    const { runServer } = await import("../../server/cli/command.ts");
    return (args) => runServer(args, noMcp);
  },
  clients: async () => (await import("../../cli/clients.ts")).runClients,
  async up() {
    const { runUp } = await import("../../computer/cli/up.ts");
    const { createSmcpServer } = await import("../../server/mod.ts");
    return (args) => runUp(() => Promise.resolve(createSmcpServer()), args);
  },
};

/** Starts a command whose output lines can be awaited. */
export const startMain = (
  name: CommandName,
  args: readonly string[],
  env: Record<string, string> = {},
): Child => start(Deno.execPath(), argumentsOf(name, args), { env });

/** Returns this process's environment without variables that affect commands. */
export const bareEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(Deno.env.toObject()).filter(([name]) =>
      !name.startsWith("SMCP_")
    ),
  );
