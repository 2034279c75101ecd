/** A child process whose output lines can be awaited. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  /** All lines so far, of both streams, in the order of their arrival. */
  readonly lines: readonly string[];
  /** The lines of its stdout alone, and those of its stderr. */
  readonly out: readonly string[];
  readonly errors: readonly string[];
  /** Resolves when it has ended and all its output has arrived. */
  readonly status: Promise<Deno.CommandStatus>;
  /** Resolves with true at the next line, or with false when it has ended. */
  more(): Promise<boolean>;
  /** Resolves with the first matching line, past or future; rejects when the process ends without one. */
  line(pattern: RegExp): Promise<RegExpMatchArray>;
  /** Sends a signal; does nothing after its end. */
  signal(name: Deno.Signal): void;
  /** Terminates it, and waits for its end. */
  stop(): Promise<Deno.CommandStatus>;
}

/** How to start a child process. */
export interface StartOptions {
  cwd?: string | URL;
  /** Environment variables in addition to those of this process, or, with `clearEnv`, all of them. */
  env?: Record<string, string>;
  clearEnv?: boolean;
  /** Whether it leads a process group, which signals reach as a whole, like Ctrl-C on a terminal. */
  group?: boolean;
  onLine?: (line: string) => void;
}

/** Starts a command, without a terminal and without colors. */
export function start(
  command: string,
  args: readonly string[],
  { env, group = false, onLine, ...options }: StartOptions = {},
): Child {
  const child = new Deno.Command(command, {
    ...options,
    args: [...args],
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    detached: group,
  }).spawn();
  const lines: string[] = [];
  const out: string[] = [];
  const errors: string[] = [];
  let next: PromiseWithResolvers<boolean> | undefined = Promise.withResolvers();
  const read = async (stream: ReadableStream<Uint8Array>, own: string[]) => {
    let rest = "";
    const take = (line: string) => {
      own.push(line);
      lines.push(line);
      onLine?.(line);
      next?.resolve(true);
      next = Promise.withResolvers();
    };
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop() ?? "";
      parts.forEach(take);
    }
    if (rest !== "") take(rest);
  };
  const status = Promise.all([
    child.status,
    read(child.stdout, out),
    read(child.stderr, errors),
  ]).then(([status]) => {
    next?.resolve(false);
    next = undefined;
    return status;
  });
  const more = () => next?.promise ?? Promise.resolve(false);
  const line = async (pattern: RegExp) => {
    for (let at = 0; at < lines.length || await more(); at++) {
      const match = lines[at]?.match(pattern);
      if (match) return match;
    }
    const output = lines.join("\n");
    throw new Error(
      `${command} ended without a line like ${pattern}:\n${output}`,
    );
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
    out,
    errors,
    status,
    more,
    line,
    signal,
    stop,
    [Symbol.asyncDispose]: async () => void await stop(),
  };
}
