/**
 * The process of a measurement that answers questions.
 *
 * @module
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setPriority } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "../contestants/start.ts";
import { guard } from "../processes.ts";

/** Gives way to others: what it costs itself must not count as the Server's time. */
const NICENESS = 10;

/** A process that answers questions. */
export class Helper implements Disposable {
  readonly #child: ChildProcess;
  readonly #guard: Disposable;
  readonly #ended: Promise<never>;

  /** Starts a program of this folder. */
  constructor(file: string, args: readonly string[]) {
    this.#child = fork(join(ROOT, "bench", "neighbours", file), args);
    const { pid = 0 } = this.#child;
    this.#guard = guard(pid);
    setPriority(pid, NICENESS);
    this.#ended = once(this.#child, "exit").then(() => {
      throw new Error("A process of the bench ended");
    });
    this.#ended.catch(() => {}); // it may end while nothing asks it
  }

  /**
   * Asks it.
   *
   * @throws {Error} when it ends in place of an answer
   */
  async ask<T>(question: object | string): Promise<T> {
    this.#child.send(question);
    const answered = once(this.#child, "message");
    const [answer] = await Promise.race([answered, this.#ended]);
    return answer;
  }

  /** Ends it. */
  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
    this.#guard[Symbol.dispose]();
  }
}

/** Answers each question of the process that started this one. */
export function answerQuestions<Q>(answer: (question: Q) => unknown): void {
  process.on("message", async (question) => {
    process.send?.(await answer(question as Q));
  });
}
