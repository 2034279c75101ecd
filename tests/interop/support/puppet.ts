import { join } from "node:path";
import { Mailboxes } from "./mailboxes.ts";
import { pythonOf, SCRIPTS, type Sdk } from "./venv.ts";

/** A Python script whose object answers calls; see `python/puppet.py`. */
export interface Puppet extends AsyncDisposable {
  /** Calls a method; rejects with Python's exception. */
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

/** Starts a script with the interpreter of an SDK; it ends with the scope, and with this process. */
export async function startPuppet(
  sdk: Sdk,
  script: "agent" | "computer" | "server",
  env: Readonly<Record<string, string>> = {},
  ...args: string[]
): Promise<Puppet> {
  const python = await pythonOf(sdk);
  const home = await Deno.makeTempDir({ prefix: "smcp-interop-" });
  const child = new Deno.Command(python, {
    args: [join(SCRIPTS, `${script}.py`), ...args],
    // The SDK keeps files in the home directory.
    env: {
      HOME: home,
      PYTHONDONTWRITEBYTECODE: "1",
      PYTHONUNBUFFERED: "1",
      ...env,
    },
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
  const gone = () => new Error(`${script}.py has ended:\n${log}`);
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
