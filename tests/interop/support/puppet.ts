import { Mailboxes } from "./mailboxes.ts";

/** A program whose object answers calls; see `python/puppet.py`. */
export interface Puppet extends AsyncDisposable {
  /** Calls a method; rejects with its exception. */
  call(method: string, ...args: unknown[]): Promise<unknown>;
  /** Resolves with the data of the next unread event of a name. */
  next(event: string): Promise<unknown>;
  /** Returns how many events of a name were not read. */
  unread(event: string): number;
}

interface Message {
  id?: number;
  result?: unknown;
  error?: string;
  event?: string;
  data?: unknown;
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
  let ended = false;
  const take = ({ id, result, error, event, data }: Message) => {
    if (event !== undefined) events.put(event, data);
    else if (error !== undefined) {
      pending.get(id ?? 0)?.reject(new Error(error));
    } else pending.get(id ?? 0)?.resolve(result);
  };
  const gone = () =>
    new Error(`${[program, ...args].join(" ")} has ended:\n${log}`);
  const done = Promise.all([
    child.status,
    eachLine(child.stdout, (line) => take(JSON.parse(line))),
    eachLine(child.stderr, (line) => log += `${line}\n`),
  ]).then(() => {
    ended = true;
    for (const call of pending.values()) call.reject(gone());
    events.close(gone());
  });
  const stdin = child.stdin.getWriter();
  let calls = 0;
  return {
    async call(method, ...args) {
      if (ended) throw gone();
      const id = ++calls;
      const call = Promise.withResolvers<unknown>();
      pending.set(id, call);
      const line = JSON.stringify({ id, method, args }) + "\n";
      await stdin.write(new TextEncoder().encode(line));
      return await call.promise.finally(() => pending.delete(id));
    },
    next: (event) => events.take(event),
    unread: (event) => events.unread(event),
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
