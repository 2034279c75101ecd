/** A child process whose output lines can be awaited. */
export interface Child extends AsyncDisposable {
  /** Its process id. */
  readonly pid: number;
  /** All lines so far, of both streams, in the order of their arrival. */
  readonly lines: readonly string[];
  /** The lines of its stderr alone. */
  readonly errors: readonly string[];
  /** Resolves when it has ended and all its output has arrived. */
  readonly status: Promise<Deno.CommandStatus>;
  /** Resolves with the first matching line, past or future; rejects when the process ends without one. */
  line(pattern: RegExp): Promise<RegExpMatchArray>;
  /** Sends a signal; does nothing after its end. */
  signal(name: Deno.Signal): void;
  /** Terminates it, and waits for its end. */
  stop(): Promise<Deno.CommandStatus>;
}

/** How to start a child process. */
export interface StartOptions {
  /** The working directory. */
  cwd?: string | URL;
  /** Environment variables in addition to those of this process. */
  env?: Record<string, string>;
  /** Whether it leads a process group, which signals reach as a whole, like Ctrl-C on a terminal. */
  group?: boolean;
  /** Called with each line. */
  onLine?: (line: string) => void;
}

/** Starts a command, without a terminal and without colors. */
export function start(
  command: string,
  args: readonly string[],
  { cwd, env, group = false, onLine }: StartOptions = {},
): Child {
  const child = new Deno.Command(command, {
    args: [...args],
    ...(cwd !== undefined && { cwd }),
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    detached: group,
  }).spawn();
  const lines: string[] = [];
  const errors: string[] = [];
  let ended = false;
  const waiting = new Set<(line: string | undefined) => void>();
  const take = (line: string) => {
    lines.push(line);
    onLine?.(line);
    for (const wait of [...waiting]) wait(line);
  };
  const status = Promise.all([
    child.status,
    readLines(child.stdout, take),
    readLines(child.stderr, (line) => {
      errors.push(line);
      take(line);
    }),
  ]).then(([status]) => {
    ended = true;
    for (const wait of [...waiting]) wait(undefined);
    return status;
  });

  const line = (pattern: RegExp) => {
    const past = lines.map((text) => text.match(pattern)).find((m) => m);
    if (past) return Promise.resolve(past);
    return new Promise<RegExpMatchArray>((resolve, reject) => {
      const wait = (text: string | undefined) => {
        const match = text?.match(pattern);
        if (!match && text !== undefined) return;
        waiting.delete(wait);
        if (match) resolve(match);
        else {
          reject(
            new Error(
              `${command} ended without a line like ${pattern}:\n${
                lines.join("\n")
              }`,
            ),
          );
        }
      };
      if (ended) wait(undefined);
      else waiting.add(wait);
    });
  };
  const signal = (name: Deno.Signal) => {
    try {
      if (group) Deno.kill(-child.pid, name);
      else child.kill(name);
    } catch (error) {
      const ended = error instanceof TypeError ||
        error instanceof Deno.errors.NotFound;
      if (!ended) throw error;
    }
  };
  const stop = () => {
    signal("SIGTERM");
    return status;
  };
  return {
    pid: child.pid,
    lines,
    errors,
    status,
    line,
    signal,
    stop,
    [Symbol.asyncDispose]: async () => void await stop(),
  };
}

async function readLines(
  stream: ReadableStream<Uint8Array>,
  take: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    parts.forEach(take);
  }
  if (rest !== "") take(rest);
}
