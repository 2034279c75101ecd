import {
  clearScreenDown,
  createInterface,
  type Interface,
  moveCursor,
} from "node:readline";
import type { Readable, Writable } from "node:stream";

/** What a {@linkcode Prompt} is made of. */
export interface PromptOptions {
  /** A terminal. */
  readonly input: Readable;
  /** The same. */
  readonly output: Writable;
  /** What stands before each line. */
  readonly prompt: string;
  /** As `node:readline` wants it. */
  readonly complete: (line: string) => [string[], string];
  /** Lines of before, the last one last; those that are typed are added. */
  readonly history: string[];
}

/**
 * Reads lines from a terminal, one at a time, while other things may be shown.
 *
 * The terminal is its own only while a line is waited for: questions in between have it to
 * themselves, and what was typed so far is there again afterwards.
 */
export class Prompt {
  readonly #options: PromptOptions;
  #reader: Interface | undefined;
  #waiting: ((line: string | undefined) => void) | undefined;
  #paused = 0;

  /** Makes a prompt that shows nothing yet. */
  constructor(options: PromptOptions) {
    this.#options = options;
  }

  /** Waits for a line; undefined after Ctrl-D, or `close`. */
  readLine(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      if (this.#paused === 0) this.#open("");
    });
  }

  /** Shows text above the line that is being typed. */
  print(text: string): void {
    this.#erase();
    this.#options.output.write(`${text}\n`);
    this.#reader?.prompt(true);
  }

  /** Begins a new line after the `^C` that a terminal shows while no line is waited for. */
  interrupted(): void {
    if (!this.#reader) this.#options.output.write("\n");
  }

  /** Leaves the terminal to something else until that is done. */
  async pauseFor<T>(work: () => Promise<T>): Promise<T> {
    const typed = this.#reader?.line ?? "";
    if (this.#paused++ === 0) {
      this.#erase();
      this.#shut();
    }
    try {
      return await work();
    } finally {
      if (--this.#paused === 0 && this.#waiting) this.#open(typed);
    }
  }

  /** Ends it. */
  close(): void {
    this.#shut();
    this.#settle(undefined);
  }

  #open(typed: string): void {
    const { input, output, prompt, complete, history } = this.#options;
    const reader = createInterface({
      input,
      output,
      prompt,
      terminal: true,
      completer: complete,
      history: history.toReversed(), // it wants the last one first
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
      // As in any shell: what was typed is given up.
      output.write("^C\n");
      this.#shut();
      if (this.#waiting) this.#open("");
    });
    const end = (last: string) => {
      if (this.#reader !== reader) return;
      this.#reader = undefined;
      output.write(last);
      this.#settle(undefined);
    };
    reader.on("error", () => end("")); // the terminal is gone
    reader.on("close", () => end("\n"));
    reader.prompt();
    if (typed !== "") reader.write(typed);
  }

  #shut(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.close();
  }

  /** Of lines that were pasted, all but the first are put back: the next reader gets them. */
  #putBackRest(): void {
    const { input } = this.#options;
    let rest = "";
    const onKey = (_: unknown, { sequence = "" }: { sequence?: string }) =>
      rest += sequence;
    input.on("keypress", onKey);
    // Keys that came in one piece with this line are told within the same turn.
    queueMicrotask(() => {
      input.off("keypress", onKey);
      if (rest !== "") input.unshift(rest);
    });
  }

  #settle(line: string | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(line);
  }

  /** Takes the line that is being typed away, however many rows it has. */
  #erase(): void {
    if (!this.#reader) return;
    const { output } = this.#options;
    const { rows } = this.#reader.getCursorPos();
    output.write("\r");
    if (rows > 0) moveCursor(output, 0, -rows);
    clearScreenDown(output);
  }
}
