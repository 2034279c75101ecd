import {
  clearScreenDown,
  createInterface,
  type Interface,
  type Key,
  moveCursor,
  type ReadLineOptions,
} from "node:readline";
import type { Writable } from "node:stream";
import { plainStyled } from "../../../cli/print.ts";

/** Options of a prompt. */
interface PromptOptions extends ReadLineOptions {
  readonly output: Writable;
  /** Earlier lines, the latest last; new lines are added. */
  readonly history: string[];
}

/**
 * A prompt that is not shown yet: it reads lines from a terminal one at a time, while other output may
 * be shown.
 *
 * It uses the terminal only while it waits for a line: questions in between have the terminal to
 * themselves, and the text typed so far is restored afterwards.
 */
export class Prompt {
  readonly #options: PromptOptions;
  /** Reads the line that is being typed. */
  #reader: Interface | undefined;
  /** Resolves the pending `readLine`. */
  #resolve: ((line: string | undefined) => void) | undefined;
  /** The number of running `pauseFor`. */
  #pauses = 0;
  /** The output of a pause. */
  #held = "";

  constructor(options: PromptOptions) {
    this.#options = options;
  }

  /** Reads a line; undefined after Ctrl-D or `close`. */
  readLine(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (this.#pauses === 0) this.#open("");
    });
  }

  /** Shows text, which may have styles, above the line that is being typed; while the prompt is paused, afterwards. */
  print(text: string): void {
    const lines = `${plainStyled(text)}\n`;
    if (this.#pauses > 0) {
      this.#held += lines;
      return;
    }
    this.#erase();
    this.#options.output.write(lines);
    this.#reader?.prompt(true);
  }

  /** Starts a new line after the `^C` that a terminal shows while no line is being read. */
  interrupted(): void {
    if (!this.#reader) this.#options.output.write("\n");
  }

  /** Pauses the prompt while other code uses the terminal. */
  async pauseFor<T>(work: () => Promise<T>): Promise<T> {
    const typed = this.#reader?.line ?? "";
    if (this.#pauses++ === 0) {
      this.#erase();
      this.#shut();
    }
    try {
      await undefined; // the lines pasted behind one of the same turn are put back first
      return await work();
    } finally {
      if (--this.#pauses === 0) {
        this.#printHeld();
        if (this.#resolve) this.#open(typed);
      }
    }
  }

  /** Closes the prompt. */
  close(): void {
    this.#printHeld();
    this.#shut();
    this.#settle(undefined);
  }

  /** Shows the prompt with a text that was typed before. */
  #open(typed: string): void {
    const { history, output } = this.#options;
    const reader = createInterface({
      ...this.#options,
      terminal: true,
      history: history.toReversed(), // readline expects the latest first
      historySize: history.length + 1,
    });
    this.#reader = reader;
    reader.on("line", (line) => {
      if (line.trim() !== "" && history.at(-1) !== line) history.push(line);
      this.#shut();
      this.#putBackRest();
      this.#settle(line);
    });
    reader.on("SIGINT", () => {
      // As in any shell, the typed text is discarded.
      output.write("^C\n");
      this.#shut();
      if (this.#resolve) this.#open("");
    });
    const end = (last: string) => {
      if (this.#reader !== reader) return;
      this.#reader = undefined;
      output.write(last);
      this.#settle(undefined);
    };
    reader.on("error", () => end("")); // the terminal is closed
    reader.on("close", () => end("\n"));
    reader.prompt();
    if (typed !== "") reader.write(typed);
  }

  #shut(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.close();
  }

  /** Puts back all pasted lines but the first, for the next reader. */
  #putBackRest(): void {
    const { input } = this.#options;
    let rest = "";
    const onKey = (_: unknown, { sequence = "" }: Key) => rest += sequence;
    input.on("keypress", onKey);
    // Keys that arrived together with this line are emitted within the same turn.
    queueMicrotask(() => {
      input.off("keypress", onKey);
      if (rest !== "") input.unshift(rest);
    });
  }

  #settle(line: string | undefined): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.(line);
  }

  #printHeld(): void {
    this.#options.output.write(this.#held);
    this.#held = "";
  }

  /** Erases the line being typed, however many rows it has. */
  #erase(): void {
    if (!this.#reader) return;
    const { output } = this.#options;
    const { rows } = this.#reader.getCursorPos();
    output.write("\r");
    if (rows > 0) moveCursor(output, 0, -rows);
    clearScreenDown(output);
  }
}
