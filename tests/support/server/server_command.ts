import { fileURLToPath } from "node:url";

/** A server in a separate process. */
export interface ServerCommand extends AsyncDisposable {
  /** The first line on stdout; empty when it exited without one. */
  readonly line: string;
  /** The address in that line. */
  readonly url: string;
  /** The output on stdout so far. */
  readonly out: string;
  /** Its process id. */
  readonly pid: number;
  /** The output on stderr so far. */
  readonly log: string;
  /** Its exit code. */
  readonly exited: Promise<number>;
  /** Sends it a signal. */
  kill(signal: "SIGHUP" | "SIGINT" | "SIGTERM"): void;
  /** Resolves when its log contains a text. */
  logged(text: string): Promise<void>;
  /** Resolves with what follows a text in a line of stdout. */
  printed(text: string): Promise<string>;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));

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
  const inherited = Object.fromEntries(
    Object.entries(Deno.env.toObject()).filter(([k]) => !k.startsWith("SMCP_")),
  );
  const bounded = openFiles === undefined
    ? []
    : ["sh", "-c", `ulimit -n ${openFiles} && exec "$@"`, "sh"];
  const [program = "", ...before] = [...bounded, Deno.execPath()];
  const child = new Deno.Command(program, {
    args: [
      ...before,
      "run",
      "--no-prompt",
      "--frozen",
      "--allow-net",
      "--allow-env",
      "--allow-read",
      ...permissions,
      "server/main.ts",
      ...args,
    ],
    cwd: root,
    clearEnv: true,
    env: { ...inherited, NO_COLOR: "1", ...env },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let out = "";
  let log = "";
  const changed = new Set<() => void>();
  const wake = () => {
    for (const resolve of changed) resolve();
    changed.clear();
  };
  const change = () => new Promise<void>((resolve) => changed.add(resolve));
  let over = false;
  const read = async (
    stream: ReadableStream<Uint8Array>,
    take: (text: string) => void,
  ) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      take(decoder.decode(chunk, { stream: true }));
      wake();
    }
  };
  const exited = Promise.all([
    child.status,
    read(child.stdout, (text) => out += text),
    // Skips the runtime's own lines about type checking.
    read(child.stderr, (text) => log += text.replaceAll(/^Check .*\n/gm, "")),
  ]).then(([{ code }]) => {
    over = true;
    wake();
    return code;
  });
  while (!out.includes("\n") && !over) await change();
  const [line = ""] = out.split("\n");
  return {
    line,
    url: /https?:\/\/[^\s/]+/.exec(line)?.[0] ?? "",
    pid: child.pid,
    get out() {
      return out;
    },
    get log() {
      return log;
    },
    exited,
    kill: (signal) => child.kill(signal),
    async logged(text) {
      while (!log.includes(text)) {
        if (over) throw new Error(`Exited without logging "${text}"`);
        await change();
      }
    },
    async printed(text) {
      while (true) {
        const line = out.split("\n").slice(0, -1).find((each) =>
          each.includes(text)
        );
        if (line !== undefined) return line.split(text)[1] ?? "";
        if (over) throw new Error(`Exited without printing "${text}"`);
        await change();
      }
    },
    async [Symbol.asyncDispose]() {
      if (!over) child.kill("SIGKILL");
      await exited;
    },
  };
}
