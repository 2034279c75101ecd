import { fileURLToPath } from "node:url";
import { start } from "../child.ts";
import { bareEnvironment } from "../command.ts";

/** A server in a separate process. */
export interface ServerCommand extends AsyncDisposable {
  /** The first line on stdout; empty when it exited without one. */
  readonly line: string;
  /** The address in that line. */
  readonly url: string;
  /** The output on stdout so far. */
  readonly out: string;
  readonly pid: number;
  /** The output on stderr so far. */
  readonly log: string;
  /** Its exit code. */
  readonly exited: Promise<number>;
  kill(signal: "SIGHUP" | "SIGINT" | "SIGTERM"): void;
  /** Resolves when its log contains a text. */
  logged(text: string): Promise<void>;
  /** Resolves with what follows a text in a line of stdout. */
  printed(text: string): Promise<string>;
}

/**
 * Starts the server's command with only the documented permissions; resolves at its
 * first line on stdout, or when it has exited.
 *
 * @param env added to an environment without any SMCP_ variable
 * @param permissions additional permissions, and further options of Deno
 * @param openFiles the limit of descriptors; default that of the test
 */
export async function startServerCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  permissions: readonly string[] = [],
  openFiles?: number,
): Promise<ServerCommand> {
  const bounded = openFiles === undefined
    ? []
    : ["sh", "-c", `ulimit -n ${openFiles} && exec "$@"`, "sh"];
  const [program = "", ...all] = [
    ...[...bounded, Deno.execPath(), "run", "--no-prompt", "--frozen"],
    ...["--allow-net", "--allow-env", "--allow-read", ...permissions],
    ...["server/main.ts", ...args],
  ];
  const child = start(program, all, {
    cwd: fileURLToPath(new URL("../../../", import.meta.url)),
    clearEnv: true,
    env: { ...bareEnvironment(), ...env },
  });
  const exited = child.status.then(({ code }) => code);
  /** Resolves with the first line of a stream that has a text. */
  const lineOf = async (lines: readonly string[], text: string) => {
    for (let at = 0; at < lines.length || await child.more();) {
      const line = lines[at];
      if (line?.includes(text)) return line;
      if (line !== undefined) at++;
    }
    throw new Error(`Exited without writing "${text}"`);
  };
  const textOf = (lines: readonly string[]) =>
    lines.map((line) => `${line}\n`).join("");
  const line = await lineOf(child.out, "").catch(() => "");
  return {
    line,
    pid: child.pid,
    exited,
    kill: child.signal,
    url: /https?:\/\/[^\s/]+/.exec(line)?.[0] ?? "",
    get out() {
      return textOf(child.out);
    },
    get log() {
      // Without the runtime's own lines about type checking.
      return textOf(child.errors.filter((line) => !line.startsWith("Check ")));
    },
    logged: async (text) => void await lineOf(child.errors, text),
    printed: async (text) =>
      (await lineOf(child.out, text)).split(text)[1] ?? "",
    async [Symbol.asyncDispose]() {
      child.signal("SIGKILL");
      await exited;
    },
  };
}
