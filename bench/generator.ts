import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Target } from "./contestants/running.ts";
import { spawn } from "./leftovers.ts";

/** What one process of a server used. */
export interface ProcessUsed {
  readonly cpuSeconds: number;
  readonly rssBytes: number;
  readonly peakRssBytes: number;
}

/** The common results of the load generator, for the time of measurement. */
export interface Used {
  /** Each process of the server, by its name. */
  readonly processes: Readonly<Record<string, ProcessUsed>>;
  readonly seconds: number;
  /** CPU seconds of all threads of all of them. */
  readonly serverCpuSeconds: number;
  readonly generatorCpuSeconds: number;
  /** CPU seconds of everything else on the machine, to a hundredth of a second. */
  readonly othersCpuSeconds: number;
  /** Their memory at the end. */
  readonly rssBytes: number;
  readonly peakRssBytes: number;
}

/** Calls of Agents to their Computers; latencies in microseconds. */
export interface CallsMeasured extends Used {
  readonly calls: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** The seconds of the load before these; absent if no call was answered in them. */
  readonly first?: CallsMeasured;
}

/** Broadcasts of one member; latencies, in microseconds, are those of the last receiver. */
export interface BroadcastMeasured extends Used {
  readonly deliveries: number;
  readonly broadcasts: number;
  readonly p50: number;
  readonly p99: number;
}

/** Idle members; `seconds` and CPU are those of their joins. */
export interface IdleMeasured {
  readonly steps: readonly (Used & {
    readonly members: number;
    readonly joined: number;
    readonly bytesBefore: number;
    readonly bytes: number;
  })[];
  /** What they used in so many seconds without doing anything; absent if not asked for. */
  readonly watched?: Used & { readonly members: number };
}

interface Results {
  calls: CallsMeasured;
  broadcast: BroadcastMeasured;
  idle: IdleMeasured;
}

const sources = fileURLToPath(new URL("load/", import.meta.url));

/** There is no C compiler on this machine. */
export class NoCompiler extends Error {}

/** The load generator: a C program, since a script would be slower than the measured servers. */
export class Generator {
  readonly #program: string;

  private constructor(program: string) {
    this.#program = program;
  }

  /**
   * Compiles it.
   *
   * @param folder the folder for the program
   * @throws {NoCompiler} that says how to install one
   */
  static async build(folder: string): Promise<Generator> {
    const program = join(folder, "bench_load");
    const files = await readdir(sources, { recursive: true });
    const units = files.filter((name) => name.endsWith(".c"));
    const flags = ["-O2", "-Wall", "-Wextra", "-std=gnu17", "-I", sources];
    const args = [...flags, "-o", program];
    let output: Deno.CommandOutput;
    try {
      output = await new Deno.Command("cc", {
        args: [...args, ...units],
        cwd: sources,
      })
        .output();
    } catch (error) {
      throw new NoCompiler(
        "Cannot build the load generator: it needs a C compiler, `cc` (on Debian: apt-get install gcc libc6-dev)",
        { cause: error },
      );
    }
    if (!output.success) {
      throw new Error(
        `Cannot build the load generator: ${
          new TextDecoder().decode(output.stderr)
        }`,
      );
    }
    return new Generator(program);
  }

  /**
   * Puts load on a server.
   *
   * @param options options of the program; see `load/options.h`
   * @throws {Error} when it fails, or when an answer was wrong or missing, which invalidates the run
   */
  async run<M extends keyof Results>(
    mode: M,
    server: Target,
    options: Readonly<Record<string, string | number>>,
  ): Promise<Results[M]> {
    const all = {
      mode,
      agents: server.agentPorts.join(),
      computers: server.computerPorts.join(),
      processes: Object.entries(server.processes).map((each) => each.join(":"))
        .join(),
      raw: Number(server.raw),
      reencoded: Number(server.reencodes),
      ...options,
    };
    const { success, stdout, stderr } = await spawn(this.#program, {
      args: Object.entries(all).map(([name, value]) => `${name}=${value}`),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    const [out, err] = [stdout, stderr].map((b) => new TextDecoder().decode(b));
    if (success) return JSON.parse(out ?? "");
    throw new Error(
      `Cannot use the run of ${server.name}: ${err}${server.log()}`,
    );
  }
}
