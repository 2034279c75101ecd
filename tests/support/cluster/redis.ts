import { join } from "node:path";
import { createClient } from "redis";
import { PREFIX } from "../../../server/cluster/redis_directory.ts";
import type { Certificate } from "../certificates.ts";
import { type Child, start } from "../child.ts";
import { scratch } from "../scratch.ts";
import { serverCommand, type ServerName } from "./server_program.ts";
import { killed, onFreePorts, saysTaken } from "./programs.ts";

/** How to start a Redis; without options it has its default configuration. */
export interface RedisOptions {
  /** Whether every write is on the disk before it is answered; default: as Redis does by itself. */
  persistent?: boolean;
  /** Serves TLS only, with these files as PEM; with `clientCa`, to clients with a certificate only. */
  tls?: Certificate & { ca: string; clientCa?: string };
  /** Lines of the access list, such as `user node on >secret ~* +@all`. */
  acl?: readonly string[];
  /** More lines of its configuration. */
  settings?: readonly string[];
  /** What is started; default: what the whole suite is run with. */
  server?: ServerName;
  /** Whether a cluster has used it before, so that nobody waits for former nodes; default: yes. */
  used?: boolean;
  /** The number of ports in a row that it needs; it gets them in `settings` as `$PORT+1`. */
  ports?: number;
}

/** A `redis-server` of a test. */
export interface TestRedis extends AsyncDisposable {
  /** Its address for clients, without credentials. */
  readonly url: string;
  readonly port: number;
  /** Its lines of log, of all its processes. */
  readonly log: readonly string[];
  /** Its process at present. */
  readonly pid: number;
  /** Returns {@linkcode TestRedis.url} with credentials. */
  urlOf(user: string, password: string): string;
  /** Sends a command as a user who may do everything. */
  command(...words: string[]): Promise<unknown>;
  /** Ends its process without a word; nothing is written. */
  kill(): Promise<void>;
  /**
   * Starts it again on its port, after its end or by ending it.
   *
   * @param keepData whether it has what it had; after a kill only when it is `persistent`
   */
  restart(options: { keepData: boolean }): Promise<void>;
  /** Lets every command wait, and answers them afterwards (`CLIENT PAUSE`). */
  pause(ms: number): Promise<void>;
  /** Stops its process: connections stay open, nothing is answered. */
  freeze(): void;
  /** Continues a process that was stopped. */
  thaw(): void;
}

/** Who may do everything on a Redis with an access list. */
const ADMIN = { username: "rig", password: "rig" };

/** Starts a Redis on loopback, with a folder of its own. */
export async function startRedis(
  options: RedisOptions = {},
): Promise<TestRedis> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await scratch());
  const start = async (port: number) => ({
    port,
    child: await begin(path, port, options),
  });
  const { port, child: first } = await onFreePorts(
    options.ports ?? 1,
    start,
    saysTaken,
  );
  let child = first;
  stack.defer(() => killed(child));
  const former: string[] = [];
  const { tls, acl, persistent, used = tls?.clientCa === undefined } = options;
  const scheme = tls ? "rediss" : "redis";
  const url = `${scheme}://127.0.0.1:${port}`;
  const admin = { ...(tls && { ca: tls.ca }), ...(acl && ADMIN) };
  const command = (...words: string[]) => oneCommand(url, words, admin);
  // One that asks for certificates of clients answers no command of the test.
  if (used) await use(command);
  const owned = stack.move();
  return {
    url,
    port,
    command,
    get log() {
      return [...former, ...child.lines];
    },
    get pid() {
      return child.pid;
    },
    urlOf(user, password) {
      const place = new URL(url.replace(scheme, "http"));
      Object.assign(place, { username: user, password });
      return place.href.replace("http", scheme).replace(/\/$/, "");
    },
    kill: () => killed(child),
    async restart({ keepData }) {
      if (keepData && !persistent) {
        await command("SAVE").catch(() => {
          throw new Error("What Redis had is lost: start it as persistent");
        });
      }
      await killed(child);
      former.push(...child.lines);
      if (!keepData) await emptied(path);
      child = await begin(path, port, options);
    },
    pause: async (ms) => void await command("CLIENT", "PAUSE", `${ms}`, "ALL"),
    freeze: () => child.signal("SIGSTOP"),
    thaw: () => child.signal("SIGCONT"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Makes its data those of a cluster of which no node is left. */
async function use(command: TestRedis["command"]): Promise<void> {
  const info = String(await command("INFO", "server"));
  const [, run] = /run_id:(\w+)/.exec(info) ?? [];
  await command("SET", `${PREFIX}epoch`, `${run}:test:kept`);
}

/** Starts the process; resolves when it takes connections. */
async function begin(
  folder: string,
  port: number,
  options: RedisOptions,
): Promise<Child> {
  const file = join(folder, "redis.conf");
  await Deno.writeTextFile(file, await configuration(folder, port, options));
  const [program, args] = await serverCommand(file, options.server);
  const child = start(program, args, { cwd: folder });
  await child.line(/Ready to accept connections/);
  return child;
}

async function configuration(
  folder: string,
  port: number,
  { persistent, tls, acl, settings = [] }: RedisOptions,
): Promise<string> {
  const lines = ["bind 127.0.0.1", `dir ${folder}`];
  if (tls) {
    lines.push("port 0", `tls-port ${port}`);
    const files = { cert: tls.cert, key: tls.key, ca: tls.clientCa ?? tls.ca };
    for (const [name, content] of Object.entries(files)) {
      const file = join(folder, `${name}.pem`);
      await Deno.writeTextFile(file, content);
      lines.push(`tls-${name}${name === "ca" ? "-cert" : ""}-file ${file}`);
    }
    lines.push(`tls-auth-clients ${tls.clientCa ? "yes" : "no"}`);
  } else lines.push(`port ${port}`);
  if (persistent) lines.push("appendonly yes", "appendfsync always");
  if (acl) {
    const admin = `user ${ADMIN.username} on >${ADMIN.password} ~* &* +@all`;
    lines.push("user default off", admin, ...acl);
  }
  const numbered = settings.map((line) =>
    line.replaceAll(/\$PORT\+(\d+)/g, (_, more) => String(port + Number(more)))
  );
  return [...lines, ...numbered, ""].join("\n");
}

async function emptied(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    if (/\.rdb$|^appendonlydir$|\.aof/.test(name)) {
      await Deno.remove(join(folder, name), { recursive: true });
    }
  }
}

/** Connects to a Redis or a sentinel for one command. */
export async function oneCommand(
  url: string,
  words: readonly string[],
  { ca, ...user }: { ca?: string; username?: string; password?: string } = {},
): Promise<unknown> {
  const once = { reconnectStrategy: false } as const;
  const client = createClient({
    url,
    ...user,
    RESP: 2,
    socket: ca === undefined ? once : { ...once, tls: true, ca },
  });
  client.on("error", () => {}); // told by the command
  await client.connect();
  try {
    return await client.sendCommand([...words]);
  } finally {
    client.destroy();
  }
}
