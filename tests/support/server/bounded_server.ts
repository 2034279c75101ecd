import { assert } from "@std/assert";
import { type Bystanders, startBystanders } from "./bystanders.ts";
import { type ServerCommand, startServerCommand } from "./server_command.ts";

/** V8's limit for objects and strings, beyond which the process ends. */
const HEAP_MIB = 256;

/**
 * The limit of the process's peak memory. Idle it has about 120 MiB, and the heap may be full of
 * garbage; the rest is for buffers, which are outside the heap and not limited by V8.
 *
 * `ulimit -v` is no alternative: V8 and WebAssembly reserve tens of GiB of addresses.
 */
const PEAK_MIB = 512;

/** The Server's command with little memory, and members who must not be affected by others. */
export interface BoundedServer extends AsyncDisposable {
  /** The URL for clients. */
  readonly url: string;
  /** Its process. */
  readonly command: ServerCommand;
  /** Members who make calls continuously. */
  readonly bystanders: Bystanders;
  /** The peak memory of the process in MiB; 0 without `/proc`. */
  peakMiB(): Promise<number>;
  /**
   * Asserts that no call of the bystanders failed or took longer than a second, that the process
   * lives, and that it has never had more than 512 MiB.
   */
  unharmed(): Promise<void>;
}

/** Options of a {@linkcode BoundedServer}. */
export interface BoundedServerOptions {
  /** Additional environment variables of the command. */
  readonly env?: Readonly<Record<string, string>>;
  /** The `auth` of the bystanders, such as `{ api_key }`. */
  readonly auth?: Readonly<Record<string, unknown>>;
}

/**
 * Starts `server/main.ts` with `--max-old-space-size=256`, and bystanders who call through it.
 *
 * @param args arguments of the command, in addition to `--port=0`
 */
export async function startBoundedServer(
  args: readonly string[] = [],
  { env, auth }: BoundedServerOptions = {},
): Promise<BoundedServer> {
  await using stack = new AsyncDisposableStack();
  const command = stack.use(
    await startServerCommand(["--port=0", ...args], env, [
      `--v8-flags=--max-old-space-size=${HEAP_MIB}`,
    ]),
  );
  assert(command.url, `The server did not start: ${command.log}`);
  const bystanders = stack.use(
    await startBystanders(command.url, auth, command.pid),
  );
  const owned = stack.move();
  return {
    url: command.url,
    command,
    bystanders,
    peakMiB: () => peakMiBOf(command.pid),
    async unharmed() {
      try {
        await bystanders.check();
      } catch (error) {
        throw new Error(`A bystander was harmed; the server: ${command.log}`, {
          cause: error,
        });
      }
      const peak = await peakMiBOf(command.pid);
      assert(peak <= PEAK_MIB, `the server took ${Math.round(peak)} MiB`);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Defines a test with a bounded server, which must be unharmed at its end. */
export function testBounded(
  name: string,
  test: (server: BoundedServer) => Promise<void>,
  args: readonly string[] = [],
  options?: BoundedServerOptions,
): void {
  Deno.test({ name, timeout: 120_000 }, async () => {
    await using server = await startBoundedServer(args, options);
    await test(server);
    await server.unharmed();
  });
}

/** Returns the peak memory of a process in MiB; 0 without `/proc`. */
export async function peakMiBOf(pid: number): Promise<number> {
  if (Deno.build.os !== "linux") return 0;
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmHWM:\s*(\d+) kB/.exec(status)?.[1]) / 1024;
}
