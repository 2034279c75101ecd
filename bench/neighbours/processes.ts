/**
 * The processes of a measurement, which answer a line of JSON by a line of JSON, and the memory of one.
 *
 * @module
 */
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { ROOT } from "../contestants/running.ts";
import { kill, spawn } from "../leftovers.ts";

/** A process that answers questions. */
export class Helper implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: AsyncIterator<string>;

  /**
   * Starts a program of this folder.
   *
   * @param niceness 10 gives way to others: what it costs itself must not count as the Server's time
   */
  constructor(file: string, args: readonly string[], niceness = 0) {
    const script = join(ROOT, "bench", "neighbours", file);
    const command = [Deno.execPath(), "run", "-A", "--quiet", script, ...args];
    this.#child = spawn("nice", {
      args: ["-n", String(niceness), ...command],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    });
    this.#writer = this.#child.stdin.getWriter();
    this.#lines = linesOf(this.#child.stdout);
  }

  /**
   * Asks it.
   *
   * @throws {Error} when it ends in place of an answer
   */
  async ask<T>(question: unknown): Promise<T> {
    const line = JSON.stringify(question) + "\n";
    await this.#writer.write(new TextEncoder().encode(line)).catch(() => {});
    const { value } = await this.#lines.next();
    if (value === undefined) throw new Error("A process of the bench ended");
    return JSON.parse(value);
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    kill(this.#child);
    await this.#writer.close().catch(() => {});
    await this.#child.status;
    await this.#lines.return?.();
  }
}

async function* linesOf(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** Answers each question of the process that started this one. */
export async function answerQuestions<Q>(
  answer: (question: Q) => unknown,
): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await answer(JSON.parse(line))));
  }
}

/** Waits. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

/** Starts the peak of a process's memory over; Linux only. */
export const resetPeak = (pid: number): Promise<void> =>
  writeFile(`/proc/${pid}/clear_refs`, "5");

/** Resident memory of a process, in bytes. */
export interface Memory {
  readonly now: number;
  readonly peak: number;
}

/** Returns the memory of a process, and its peak since {@linkcode resetPeak}. */
export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const bytesOf = (field: string) =>
    1024 *
    Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, "m").exec(status)?.[1]);
  return { now: bytesOf("VmRSS"), peak: bytesOf("VmHWM") };
}
