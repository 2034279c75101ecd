import {
  clearScreenDown,
  createInterface,
  type Interface,
  moveCursor,
} from "node:readline";
import type { Readable, Writable } from "node:stream";

/** Options of a {@linkcode Prompt}. */
interface PromptOptions {
  /** The terminal to read from. */
  readonly input: Readable;
  /** The terminal to write to. */
  readonly output: Writable;
  /** The text before each line. */
  readonly prompt: string;
  /** Completes a line, for `node:readline`. */
  readonly complete: (line: string) => [string[], string];
  /** Earlier lines, the latest last; new lines are added. */
  readonly history: string[];
}

/**
 * Reads lines from a terminal one at a time, while other output may be shown.
 *
 * It uses the terminal only while it waits for a line: questions in between have the terminal to
 * themselves, and the text typed so far is restored afterwards.
 */
export class Prompt {
  readonly #options: PromptOptions;
  #reader: Interface | undefined;
  #waiting: ((line: string | undefined) => void) | undefined;
  #paused = 0;
  #held = "";

  /** Creates a prompt that is not shown yet. */
  constructor(options: PromptOptions) {
    this.#options = options;
  }

  /** Reads a line; undefined after Ctrl-D or `close`. */
  readLine(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      if (this.#paused === 0) this.#open("");
    });
  }

  /** Shows text above the line that is being typed; while the prompt is paused, afterwards. */
  print(text: string): void {
    if (this.#paused > 0) {
      this.#held += `${text}\n`;
      return;
    }
    this.#erase();
    this.#options.output.write(`${text}\n`);
    this.#reader?.prompt(true);
  }

  /** Starts a new line after the `^C` that a terminal shows while no line is being read. */
  interrupted(): void {
    if (!this.#reader) this.#options.output.write("\n");
  }

  /** Pauses the prompt while other code uses the terminal. */
  async pauseFor<T>(work: () => Promise<T>): Promise<T> {
    const typed = this.#reader?.line ?? "";
    if (this.#paused++ === 0) {
      this.#erase();
      this.#shut();
    }
    try {
      return await work();
    } finally {
      if (--this.#paused === 0) {
        this.#printHeld();
        if (this.#waiting) this.#open(typed);
      }
    }
  }

  /** Closes the prompt. */
  close(): void {
    this.#printHeld();
    this.#shut();
    this.#settle(undefined);
  }

  #printHeld(): void {
    this.#options.output.write(this.#held);
    this.#held = "";
  }

  #open(typed: string): void {
    const { input, output, prompt, complete, history } = this.#options;
    const reader = createInterface({
      input,
      output,
      prompt,
      terminal: true,
      completer: complete,
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
      if (this.#waiting) this.#open("");
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
    const onKey = (_: unknown, { sequence = "" }: { sequence?: string }) =>
      rest += sequence;
    input.on("keypress", onKey);
    // Keys that arrived together with this line are emitted within the same turn.
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
