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
 * Creates a prompt that is not shown yet: it reads lines from a terminal one at a time, while other
 * output may be shown.
 *
 * It uses the terminal only while it waits for a line: questions in between have the terminal to
 * themselves, and the text typed so far is restored afterwards.
 */
export function createPrompt(options: PromptOptions) {
  const { input, output, history } = options;
  let reader: Interface | undefined;
  let waiting: ((line: string | undefined) => void) | undefined;
  let paused = 0;
  let held = "";

  const open = (typed: string) => {
    const own = createInterface({
      ...options,
      terminal: true,
      history: history.toReversed(), // readline expects the latest first
      historySize: history.length + 1,
    });
    reader = own;
    own.on("line", (line) => {
      if (line.trim() !== "" && history.at(-1) !== line) history.push(line);
      shut();
      putBackRest();
      settle(line);
    });
    own.on("SIGINT", () => {
      // As in any shell, the typed text is discarded.
      output.write("^C\n");
      shut();
      if (waiting) open("");
    });
    const end = (last: string) => {
      if (reader !== own) return;
      reader = undefined;
      output.write(last);
      settle(undefined);
    };
    own.on("error", () => end("")); // the terminal is closed
    own.on("close", () => end("\n"));
    own.prompt();
    if (typed !== "") own.write(typed);
  };

  const shut = () => {
    const own = reader;
    reader = undefined;
    own?.close();
  };

  /** Puts back all pasted lines but the first, for the next reader. */
  const putBackRest = () => {
    let rest = "";
    const onKey = (_: unknown, { sequence = "" }: Key) => rest += sequence;
    input.on("keypress", onKey);
    // Keys that arrived together with this line are emitted within the same turn.
    queueMicrotask(() => {
      input.off("keypress", onKey);
      if (rest !== "") input.unshift(rest);
    });
  };

  const settle = (line: string | undefined) => {
    const resolve = waiting;
    waiting = undefined;
    resolve?.(line);
  };

  const printHeld = () => {
    output.write(held);
    held = "";
  };

  /** Erases the line being typed, however many rows it has. */
  const erase = () => {
    if (!reader) return;
    const { rows } = reader.getCursorPos();
    output.write("\r");
    if (rows > 0) moveCursor(output, 0, -rows);
    clearScreenDown(output);
  };

  return {
    /** Reads a line; undefined after Ctrl-D or `close`. */
    readLine: () =>
      new Promise<string | undefined>((resolve) => {
        waiting = resolve;
        if (paused === 0) open("");
      }),

    /** Shows text, which may have styles, above the line that is being typed; while the prompt is paused, afterwards. */
    print(text: string): void {
      const lines = `${plainStyled(text)}\n`;
      if (paused > 0) {
        held += lines;
        return;
      }
      erase();
      output.write(lines);
      reader?.prompt(true);
    },

    /** Starts a new line after the `^C` that a terminal shows while no line is being read. */
    interrupted(): void {
      if (!reader) output.write("\n");
    },

    /** Pauses the prompt while other code uses the terminal. */
    async pauseFor<T>(work: () => Promise<T>): Promise<T> {
      const typed = reader?.line ?? "";
      if (paused++ === 0) {
        erase();
        shut();
      }
      try {
        await undefined; // the lines pasted behind one of the same turn are put back first
        return await work();
      } finally {
        if (--paused === 0) {
          printHeld();
          if (waiting) open(typed);
        }
      }
    },

    /** Closes the prompt. */
    close(): void {
      printHeld();
      shut();
      settle(undefined);
    },
  };
}
