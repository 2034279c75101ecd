import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Target } from "./contestants/start.ts";
import { answerOf, callOf, type Payload } from "./payloads.ts";
import { spawn } from "./processes.ts";

/** A load of calls. */
export interface Load {
  /** The answer. */
  readonly payload: Payload;
  /** Number of pairs of an Agent and a Computer, each in a separate office. */
  readonly pairs: number;
  /** Concurrent calls: of each pair, or of all pairs together if they rotate. */
  readonly inflight: number;
  /** Whether calls rotate over all pairs. */
  readonly rotate: boolean;
  /** Calls per second of all pairs together, regardless of answers; 0 waits for answers. */
  readonly rate: number;
  /** The load's first seconds, which are counted apart. */
  readonly warmup: number;
  /** Seconds of measurement after them. */
  readonly seconds: number;
}

/** What the load generator measured; latencies in microseconds. */
export interface CallsMeasured {
  /** CPU seconds of each process of the server, by its name, and of all of them. */
  readonly cpuSeconds: Readonly<Record<string, number>>;
  readonly serverCpuSeconds: number;
  readonly generatorCpuSeconds: number;
  /** CPU seconds of everything else on the machine, to a hundredth of a second. */
  readonly othersCpuSeconds: number;
  readonly seconds: number;
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
  /** The seconds of the load before these; absent if no call was answered in them. */
  readonly first?: CallsMeasured;
}

/** Bytes of text in a call's parameters. */
const PARAMETER_BYTES = 10;

const sources = fileURLToPath(new URL("load/", import.meta.url));

/** There is no C compiler on this machine. */
export class NoCompiler extends Error {}

/** The load generator: a C program, since a script would be slower than the measured servers. */
export class Generator {
  readonly #folder: string;
  readonly #program: string;

  private constructor(folder: string, program: string) {
    this.#folder = folder;
    this.#program = program;
  }

  /**
   * Compiles it.
   *
   * @param folder the folder for the program and its messages
   * @throws {NoCompiler} that says how to install one
   */
  static async build(folder: string): Promise<Generator> {
    const program = join(folder, "bench_load");
    const units = (await readdir(sources)).filter((name) =>
      name.endsWith(".c")
    );
    const flags = ["-O2", "-Wall", "-Wextra", "-std=gnu17", "-o", program];
    const output = await new Deno.Command("cc", {
      args: [...flags, ...units],
      cwd: sources,
    }).output().catch((cause) => {
      throw new NoCompiler(
        "Cannot build the load generator: it needs a C compiler, `cc` (on Debian: apt-get install gcc libc6-dev)",
        { cause },
      );
    });
    if (output.success) return new Generator(folder, program);
    const why = new TextDecoder().decode(output.stderr);
    throw new Error(`Cannot build the load generator: ${why}`);
  }

  /**
   * Puts load on a server.
   *
   * @throws {Error} when it fails, or when an answer was wrong or missing, which invalidates the run
   */
  async run(
    server: Target,
    { payload, rotate, ...load }: Load,
  ): Promise<CallsMeasured> {
    const answer = join(this.#folder, `answer-${payload.name}.json`);
    await Deno.writeTextFile(answer, answerOf(payload));
    const call = join(this.#folder, "call.json");
    await Deno.writeTextFile(call, callOf("x".repeat(PARAMETER_BYTES)));
    const options = {
      agents: server.agentPort,
      computers: server.computerPort,
      processes: Object.entries(server.processes).map((each) => each.join(":"))
        .join(),
      raw: Number(server.raw),
      rotate: Number(rotate),
      call,
      answer,
      ...load,
    };
    const { success, stdout, stderr } = await spawn(this.#program, {
      args: Object.entries(options).map((option) => option.join("=")),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (success) return JSON.parse(new TextDecoder().decode(stdout));
    const why = new TextDecoder().decode(stderr);
    throw new Error(
      `Cannot use the run of ${server.name}: ${why}${server.log()}`,
    );
  }
}
