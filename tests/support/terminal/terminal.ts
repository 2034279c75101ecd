import { assert, assertEquals } from "@std/assert";
import { argumentsOf, type CommandName } from "../command.ts";
import { gone, isAlive } from "../processes.ts";
import { Emulator, type Screen, TOLD } from "./emulator.ts";

export type { Screen } from "./emulator.ts";

/** A command on a separate terminal. */
export interface Terminal extends AsyncDisposable {
  /** Process id of the command. */
  readonly pid: number;
  /** All that was written so far, with its control sequences; `␛` stands for Escape. */
  readonly written: string;
  /** Whether anything is colored, bold or dim. */
  readonly styled: boolean;
  /**
   * Resolves when the command has ended: with its exit code (128 and the signal's number where a signal
   * ended it) and the settings of `stty -a`; rejects when the terminal was closed before it.
   */
  readonly end: Promise<{ code: number; modes: readonly string[] }>;
  /** The current screen. */
  screen(): Screen;
  /** Resolves with the screen when it satisfies a condition; rejects when the command ends before. */
  until(
    wanted: string | RegExp | ((screen: Screen) => boolean),
  ): Promise<Screen>;
  /** The palette index of a text's first color; undefined for the default one. */
  colourOf(text: string): number | undefined;
  /** Types text; `\r` is Enter, `\x03` Ctrl-C, `\x04` Ctrl-D. */
  type(text: string): Promise<void>;
  /** Sends a signal to the command alone. */
  signal(name: Deno.Signal): void;
  /** Changes its size, as by dragging the window. */
  resize(columns: number, rows: number): Promise<void>;
  /** Closes the window. */
  hangUp(): Promise<void>;
}

/** How to start a command on a terminal of 80x24, or another size. */
export interface TerminalOptions {
  columns?: number;
  rows?: number;
  /** Added to an environment without NO_COLOR and without any SMCP_ variable. */
  env?: Record<string, string>;
  /** The working directory. */
  cwd?: string;
}

/** Whether this machine can create terminals: with `script` of util-linux, part of Debian. */
export const hasTerminals: boolean = await makesTerminals();

if (!hasTerminals) {
  console.warn(
    "No pseudo terminals here, or no util-linux `script` to make them: what is seen on a terminal is not tested",
  );
}

/** The options of a test that needs terminals. */
export const ON_TERMINAL: Pick<Deno.TestDefinition, "ignore" | "timeout"> = {
  ignore: !hasTerminals,
  timeout: 120_000,
};

/** A test that needs terminals. */
export const onTerminal = (
  name: string,
  run: (t: Deno.TestContext) => Promise<void>,
): void => Deno.test({ name, ...ON_TERMINAL, fn: run });

/** Reports name, process id and end; Ctrl-C is for the command, not for its shell. */
const AROUND = `
  tell() { printf '\\033]${TOLD};%s=%s\\007' "$1" "$2"; }
  stty sane iutf8 cols "$1" rows "$2"; shift 2
  tell tty "$(tty)"
  trap : INT QUIT
  sh -c 'printf "\\033]${TOLD};pid=%s\\007" $$; exec "$0" "$@"' "$@"
  code=$?
  tell modes "$(stty -a | tr '\\n' ' ')"
  tell code $code`;

/** Starts a command of the package on a terminal. */
export const startOnTerminal = (
  name: CommandName,
  args: readonly string[],
  options?: TerminalOptions,
): Promise<Terminal> =>
  startTerminal(Deno.execPath(), argumentsOf(name, args), options);

/** Starts a command on a real pseudo terminal; its screen is what an emulator makes of it. */
export async function startTerminal(
  command: string,
  args: readonly string[],
  { columns = 80, rows = 24, env = {}, cwd }: TerminalOptions = {},
): Promise<Terminal> {
  const line = ["sh", "-c", AROUND, "sh", `${columns}`, `${rows}`, command]
    .concat(args).map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const ours = Object.entries(Deno.env.toObject()).filter(([name]) =>
    !/^(SMCP_.*|NO_COLOR|FORCE_COLOR|CI)$/.test(name)
  );
  const child = new Deno.Command("script", {
    args: ["-qfec", `exec ${line}`, "/dev/null"],
    clearEnv: true,
    env: {
      ...Object.fromEntries(ours),
      SHELL: "/bin/sh",
      TERM: "xterm-256color",
      ...env,
    },
    ...(cwd !== undefined && { cwd }),
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const emulator = new Emulator(columns, rows);
  const keys = child.stdin.getWriter();
  let open = true;
  const end = follow(child, emulator).finally(async () => {
    open = false;
    await keys.close().catch(() => {}); // they are not read any more
  });
  end.catch(() => {}); // waiters get the rejection
  const pid = Number(await emulator.told("pid"));

  const hangUp = async () => {
    try {
      if (open) child.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // it has ended, and its output is not read yet
    }
    await end.catch(() => {});
  };
  return {
    pid,
    end,
    get written() {
      return emulator.written;
    },
    get styled() {
      return emulator.styled;
    },
    screen: () => emulator.screen(),
    until: (wanted) =>
      emulator.until(
        typeof wanted === "function"
          ? wanted
          : typeof wanted === "string"
          ? ({ all }) => all.includes(wanted)
          : ({ all }) => wanted.test(all),
        `${wanted}`,
      ),
    colourOf: (text) => emulator.colourOf(text),
    type: (text) => keys.write(new TextEncoder().encode(text)),
    signal: (name) => Deno.kill(pid, name),
    resize: async (columns, rows) => {
      emulator.resize(columns, rows);
      const size = ["cols", `${columns}`, "rows", `${rows}`];
      const { success } = await new Deno.Command("stty", {
        args: ["-F", await emulator.told("tty"), ...size],
      }).output();
      if (!success) throw new Error("the terminal cannot be resized");
    },
    hangUp,
    [Symbol.asyncDispose]: async () => {
      await hangUp();
      const ended = await end.then(() => true, () => false);
      if (!ended && await isAlive(pid)) Deno.kill(pid, "SIGKILL"); // its test has failed
      await gone(pid);
      emulator.close();
    },
  };
}

/** Feeds the output to the emulator until there is no more; how it ended. */
async function follow(child: Deno.ChildProcess, emulator: Emulator) {
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    await emulator.take(decoder.decode(chunk, { stream: true }));
  }
  await child.status;
  await emulator.end();
  const modes = await emulator.told("modes");
  const code = await emulator.told("code");
  return { code: Number(code), modes: modes.split(/[\s;]+/) };
}

/** Creates a terminal to test it, since a machine may have the program but no pseudo terminals. */
async function makesTerminals(): Promise<boolean> {
  try {
    const { stdout } = await new Deno.Command("script", {
      args: ["-qec", "stty -a", "/dev/null"],
      env: { SHELL: "/bin/sh" },
      stderr: "null",
    }).output();
    return new TextDecoder().decode(stdout).includes("icanon");
  } catch {
    return false;
  }
}

/** Asserts that a command left its terminal as it found it, and tells its exit code. */
export async function assertRestored(terminal: Terminal): Promise<number> {
  const { code, modes } = await terminal.end;
  for (const mode of ["icanon", "echo", "isig", "icrnl", "opost"]) {
    assert(modes.includes(mode), `the terminal was left with -${mode}`);
  }
  const { alternate, cursor } = terminal.screen();
  assert(!alternate, "the alternate screen was not left");
  assert(cursor.shown, "the cursor was left hidden");
  assertEquals(cursor.x, 0, "the cursor was left within a line");
  return code;
}
