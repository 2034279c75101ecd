/** A program whose object answers calls, which come as lines of JSON on stdin; see `python/puppet.py`. */
export interface Puppet extends AsyncDisposable {
  /** Calls a method, which returns a `T`; rejects with its exception. */
  call<T>(method: string, ...args: unknown[]): Promise<T>;
  /** Resolves with the data of the next unread event of a name. */
  next(event: string): Promise<unknown>;
}

/** Starts a program whose object answers calls; it ends with the scope, and with this process. */
export async function startPuppet(
  [program = "", ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Puppet> {
  const home = await Deno.makeTempDir({ prefix: "smcp-interop-" });
  const child = new Deno.Command(program, {
    args,
    env: { HOME: home, ...env }, // the SDKs keep files in the home directory
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const pending = new Map<number, PromiseWithResolvers<unknown>>();
  const events = new Mailboxes();
  let log = "";
  let gone: Error | undefined;
  const take = (line: string) => {
    const { id, result, error, event, data } = JSON.parse(line);
    if (event !== undefined) events.put(event, data);
    else if (error === undefined) pending.get(id)?.resolve(result);
    else pending.get(id)?.reject(new Error(error));
  };
  const done = Promise.all([
    child.status,
    eachLine(child.stdout, take),
    eachLine(child.stderr, (line) => log += `${line}\n`),
  ]).then(() => {
    gone = new Error(`${[program, ...args].join(" ")} has ended:\n${log}`);
    for (const call of pending.values()) call.reject(gone);
    events.close(gone);
  });
  const stdin = child.stdin.getWriter();
  let calls = 0;
  return {
    async call<T>(method: string, ...args: unknown[]) {
      if (gone) throw gone;
      const id = ++calls;
      const call = Promise.withResolvers<unknown>();
      pending.set(id, call);
      const line = JSON.stringify({ id, method, args }) + "\n";
      await stdin.write(new TextEncoder().encode(line));
      return await call.promise.finally(() => pending.delete(id)) as T;
    },
    next: (event) => events.take(event),
    async [Symbol.asyncDispose]() {
      await stdin.close().catch(() => {}); // the process has exited
      await done;
      await Deno.remove(home, { recursive: true });
    },
  };
}

async function eachLine(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(take);
  }
}

/** Queues of messages by name. */
export class Mailboxes {
  readonly #letters: { name: string; data: unknown }[] = [];
  #change = Promise.withResolvers<void>();
  #closed: Error | undefined;

  /** Adds a message. */
  put(name: string, data: unknown): void {
    this.#letters.push({ name, data });
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  /** Closes the queues; waiting readers reject with the reason. */
  close(why: Error): void {
    this.#closed = why;
    this.#change.resolve();
  }

  /** Removes and resolves with the oldest message of a name, now or when it arrives. */
  async take(name: string): Promise<unknown> {
    while (true) {
      const at = this.#letters.findIndex((letter) => letter.name === name);
      if (at !== -1) return this.#letters.splice(at, 1)[0]?.data;
      if (this.#closed) throw this.#closed;
      await this.#change.promise;
    }
  }
}
