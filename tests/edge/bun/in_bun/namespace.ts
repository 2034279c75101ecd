/**
 * What the suites use of the `Deno` namespace, for Bun: loaded before everything else there. Bun's
 * `--define` puts it where a module says `Deno`; the package itself, which looks at `globalThis`,
 * finds none.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import * as files from "node:fs/promises";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { Readable, Writable } from "node:stream";
import { inspect } from "node:util";
import { bun, type BunServer } from "../../../../server/fetch/bun.ts";
import { test } from "./register.ts";

type Environment = Record<string, string>;

/** The part of Bun's global that is used. */
declare const Bun: {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly tls?: { readonly cert: string; readonly key: string };
    readonly websocket: object;
    fetch(request: Request, server: BunServer): Promise<Response> | Response;
  }): { readonly port: number; stop(isForced?: boolean): Promise<void> };
};

/** An error class of Deno, as which the errors of `node:fs` pass. */
const errorOf = (...codes: readonly string[]) =>
  class extends Error {
    static override [Symbol.hasInstance](error: unknown): boolean {
      return error instanceof Object &&
        codes.includes(Reflect.get(error, "code"));
    }
  };

const environment = (): Environment =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]]
    ),
  );

type Stream = "piped" | "null" | "inherit";
const STDIO = { piped: "pipe", null: "ignore", inherit: "inherit" } as const;

/** Options of `Deno.Command`. */
interface CommandOptions {
  readonly args?: string[];
  readonly cwd?: string | URL;
  readonly clearEnv?: boolean;
  readonly env?: Environment;
  readonly stdin?: Stream;
  readonly stdout?: Stream;
  readonly stderr?: Stream;
  readonly detached?: boolean;
}

class Command {
  readonly #program: string;
  readonly #options: CommandOptions;

  constructor(program: string, options: CommandOptions = {}) {
    this.#program = program;
    this.#options = options;
  }

  spawn() {
    return new Child(this.#start("inherit"));
  }

  output() {
    return new Child(this.#start("piped")).output();
  }

  /** @param output what is done with it by default */
  #start(output: Stream): ChildProcess {
    const {
      args = [],
      cwd,
      clearEnv,
      env,
      stdin = output === "piped" ? "null" : "inherit",
      stdout = output,
      stderr = output,
      detached = false,
    } = this.#options;
    return spawn(this.#program, args, {
      ...(cwd !== undefined && { cwd }),
      env: { ...(clearEnv ? {} : environment()), ...env },
      stdio: [STDIO[stdin], STDIO[stdout], STDIO[stderr]],
      detached,
    });
  }
}

/** What a test that failed has left running ends with this process. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

class Child {
  readonly pid: number;
  readonly status: Promise<
    { code: number; success: boolean; signal: string | null }
  >;
  readonly #process: ChildProcess;
  #streams: Partial<Record<"stdout" | "stderr", ReadableStream>> = {};

  constructor(child: ChildProcess) {
    this.#process = child;
    this.pid = child.pid ?? 0;
    running.add(child);
    child.once("exit", () => running.delete(child));
    // Without a reader, a child that ends takes what it has written with it.
    for (const name of ["stdout", "stderr"] as const) {
      const stream = child[name];
      if (stream) {
        this.#streams[name] = Readable.toWeb(stream) as ReadableStream;
      }
    }
    this.status = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (exited, signal) => {
        const code = exited ?? 128 + (signal ? constants.signals[signal] : 0);
        resolve({ code, success: code === 0, signal });
      });
    });
  }

  async output() {
    const bytes = (stream: ReadableStream | undefined) =>
      new Response(stream ?? null).bytes();
    const { stdout, stderr } = this.#streams;
    const [status, out, error] = await Promise.all([
      this.status,
      bytes(stdout),
      bytes(stderr),
    ]);
    return { ...status, stdout: out, stderr: error };
  }

  get stdout(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return streamed(this.#streams.stdout);
  }

  get stderr(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return streamed(this.#streams.stderr);
  }

  get stdin(): WritableStream<Uint8Array> {
    const { stdin } = this.#process;
    if (stdin === null) throw new TypeError("not piped");
    return Writable.toWeb(stdin) as WritableStream<Uint8Array>;
  }

  kill(signal: NodeJS.Signals = "SIGTERM"): void {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) {
      throw new TypeError("Child process has already terminated");
    }
    this.#process.kill(signal);
  }

  ref(): void {
    this.#process.ref();
  }

  unref(): void {
    this.#process.unref();
  }
}

function streamed<T>(stream: T | undefined): T {
  if (stream === undefined) throw new TypeError("not piped");
  return stream;
}

/** A connection as `Deno.connect` returns it. */
const connected = (socket: Socket) => ({
  get readable() {
    return Readable.toWeb(socket);
  },
  get writable() {
    return Writable.toWeb(socket);
  },
  write: (bytes: Uint8Array) =>
    new Promise<number>((resolve, reject) =>
      socket.write(
        bytes,
        (error) => error ? reject(error) : resolve(bytes.length),
      )
    ),
  read: (into: Uint8Array) =>
    new Promise<number | null>((resolve) => {
      const end = () => resolve(null);
      socket.once("end", end);
      socket.once("data", (chunk: Buffer) => {
        socket.off("end", end);
        socket.pause();
        into.set(chunk.subarray(0, into.length));
        resolve(chunk.length);
      });
    }),
  close: () => void socket.destroy(),
  [Symbol.dispose]: () => void socket.destroy(),
});

/** Options of `Deno.serve`. */
interface ServeOptions {
  readonly hostname?: string;
  readonly port?: number;
  readonly signal?: AbortSignal;
  readonly cert?: string;
  readonly key?: string;
}

/** The handler gets what Bun's does as its second argument. */
function serve(
  { hostname = "0.0.0.0", port = 8000, signal, cert, key }: ServeOptions,
  handler: (
    request: Request,
    info: BunServer,
  ) => Promise<Response> | Response,
) {
  const server = Bun.serve({
    hostname,
    port,
    ...(cert !== undefined && key !== undefined && { tls: { cert, key } }),
    fetch: handler,
    websocket: bun().websocket,
  });
  const finished = Promise.withResolvers<void>();
  const stop = (isForced: boolean) =>
    server.stop(isForced).then(finished.resolve);
  signal?.addEventListener("abort", () => void stop(true));
  return {
    addr: { transport: "tcp", hostname, port: server.port },
    finished: finished.promise,
    shutdown: () => stop(false),
    [Symbol.asyncDispose]: () => stop(true),
  };
}

const inTmp = (
  { dir = tmpdir(), prefix = "smcp-" }: { dir?: string; prefix?: string } = {},
) => join(dir, prefix);

Object.assign(globalThis, {
  denoInBun: {
    test,
    Command,
    serve,
    args: process.argv.slice(2),
    pid: process.pid,
    ppid: process.ppid,
    build: {
      os: process.platform,
      arch: process.arch === "x64" ? "x86_64" : "aarch64",
    },
    env: {
      get: (name: string) => process.env[name],
      toObject: environment,
    },
    errors: {
      NotFound: errorOf("ENOENT", "ESRCH"),
      AlreadyExists: errorOf("EEXIST"),
      ConnectionRefused: errorOf("ECONNREFUSED"),
    },
    // A program of the test run, which starts the modules of the package with Bun.
    execPath: () => process.env.SMCP_DENO ?? "deno",
    exit: (code?: number) => process.exit(code),
    kill: (pid: number, signal: NodeJS.Signals) =>
      void process.kill(pid, signal),
    addSignalListener: (signal: NodeJS.Signals, listener: () => void) =>
      void process.on(signal, listener),
    memoryUsage: () => process.memoryUsage(),
    uid: () => process.getuid?.() ?? null,
    inspect: (value: unknown) => inspect(value),
    stdin: {
      get readable() {
        return Readable.toWeb(process.stdin);
      },
    },
    async connect(
      { hostname = "127.0.0.1", port }: { hostname?: string; port: number },
    ) {
      const socket = connect({ host: hostname, port });
      await new Promise<void>((resolve, reject) => {
        socket.once("connect", resolve);
        socket.once("error", reject);
      });
      return connected(socket);
    },
    makeTempDir: (options?: { dir?: string; prefix?: string }) =>
      files.mkdtemp(inTmp(options)),
    async makeTempFile(
      { suffix = "", ...options }: {
        dir?: string;
        prefix?: string;
        suffix?: string;
      } = {},
    ) {
      const file = join(await files.mkdtemp(inTmp(options)), `file${suffix}`);
      await files.writeFile(file, "");
      return file;
    },
    readTextFile: (path: string | URL) => files.readFile(path, "utf8"),
    readTextFileSync: (path: string | URL) => readFileSync(path, "utf8"),
    readFile: async (path: string | URL) =>
      new Uint8Array(await files.readFile(path)),
    async *readDir(path: string | URL) {
      const entries = await files.readdir(path, { withFileTypes: true });
      yield* entries.map(entryOf);
    },
    readDirSync: (path: string | URL) =>
      readdirSync(path, { withFileTypes: true }).map(entryOf),
    writeTextFile: (
      path: string | URL,
      text: string,
      { append = false, mode }: { append?: boolean; mode?: number } = {},
    ) =>
      files.writeFile(path, text, {
        flag: append ? "a" : "w",
        ...(mode !== undefined && { mode }),
      }),
    writeTextFileSync: (path: string | URL, text: string) =>
      writeFileSync(path, text),
    remove: (
      path: string | URL,
      { recursive = false }: { recursive?: boolean } = {},
    ) =>
      files.rm(path, { recursive }).catch((error) =>
        error.code === "ERR_FS_EISDIR"
          ? files.rmdir(path)
          : Promise.reject(error)
      ),
    mkdir: async (
      path: string | URL,
      options?: { recursive?: boolean; mode?: number },
    ) => void await files.mkdir(path, options),
    async stat(path: string | URL) {
      const { size, mode, mtime } = await files.stat(path);
      return { size, mode, mtime };
    },
    realPath: files.realpath,
    chmod: files.chmod,
    rename: files.rename,
    symlink: files.symlink,
  },
});

const entryOf = (
  entry: {
    readonly name: string;
    isFile(): boolean;
    isDirectory(): boolean;
  },
) => ({
  name: entry.name,
  isFile: entry.isFile(),
  isDirectory: entry.isDirectory(),
});
