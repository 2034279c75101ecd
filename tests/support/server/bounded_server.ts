import { assert } from "@std/assert";
import { type Bystanders, startBystanders } from "./bystanders.ts";
import { type ServerCommand, startServerCommand } from "./server_command.ts";

/** What V8 may take for objects and strings; past it the process ends. */
const HEAP_MIB = 256;

/**
 * What the process may ever have taken as a whole. Idle it has about 120 MiB, and the heap may be
 * full of garbage; the rest is for buffers, which lie outside the heap and which V8 does not bound.
 *
 * `ulimit -v` cannot say the same: V8 and WebAssembly reserve tens of GiB of addresses.
 */
const PEAK_MIB = 512;

/** The Server's command with little memory, and members who must notice nothing of what others do. */
export interface BoundedServer extends AsyncDisposable {
  /** Where clients connect to. */
  readonly url: string;
  /** Its process. */
  readonly command: ServerCommand;
  /** Members who call all the while. */
  readonly bystanders: Bystanders;
  /** The most memory that the process has had, in MiB; 0 where there is no `/proc`. */
  peakMiB(): Promise<number>;
  /**
   * Asserts that no call of the bystanders failed or took longer than a second, that the process
   * lives, and that it has never had more than 512 MiB.
   */
  unharmed(): Promise<void>;
}

/** How a {@linkcode BoundedServer} differs from the default. */
export interface BoundedServerOptions {
  /** Added to the command's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the bystanders send when they connect, such as `{ api_key }`. */
  readonly auth?: Readonly<Record<string, unknown>>;
}

/**
 * Starts `server/main.ts` with `--max-old-space-size=256`, and bystanders who call through it.
 *
 * @param args of the command, beside `--port=0`
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
    peakMiB: () => peakOf(command.pid),
    async unharmed() {
      try {
        await bystanders.check();
      } catch (error) {
        throw new Error(`A bystander was harmed; the server: ${command.log}`, {
          cause: error,
        });
      }
      const peak = await peakOf(command.pid);
      assert(peak <= PEAK_MIB, `the server took ${Math.round(peak)} MiB`);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function peakOf(pid: number): Promise<number> {
  if (Deno.build.os !== "linux") return 0;
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmHWM:\s*(\d+) kB/.exec(status)?.[1]) / 1024;
}
