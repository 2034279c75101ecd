/**
 * The end of what a child process printed on stderr, for messages about its failure: without the
 * lines of stacks, which would push the reason out, and with the lines that name an error.
 *
 * Lines are classified as they arrive, so that memory is bounded however long a stack is. A line of
 * a stack is recognised by its own form, or by its place in a block that another line begins.
 *
 * @module
 */
import { hideSecrets } from "./secrets.ts";

const SHOWN_CHARACTERS = 4_000;
const SHOWN_LINES = 10;
/** More than is shown, so that a secret at the cut is still recognised before the text is cut. */
const KEPT_CHARACTERS = 4 * SHOWN_CHARACTERS;
/** A longer line with an error is kept only as long as it is among the last. */
const MAX_ERROR_LENGTH = 1_000;
/** How much of a line is compared with the forms of stacks, some of which take quadratic time. */
const MAX_FRAME_LENGTH = 500;

/** Matches a line with an error. */
const ERROR =
  /error|exception|fatal|panic|fail|cannot|can't|could not|unable|denied|refused|invalid|missing|required|not found|no such/i;

/** Keeps the end of a text that comes in chunks. */
export class TextTail {
  readonly #decoder = new TextDecoder();
  /** Matches lines that continue the part of a stack in which the next line is. */
  #block: RegExp | undefined;
  /** The line that has not ended. */
  #open = "";
  /** The last lines. */
  readonly #lines: string[] = [];
  /** The characters of those lines. */
  #length = 0;
  /** Those with an error that were before the last lines. */
  readonly #errors: string[] = [];

  /** Adds a chunk; only the last few thousand characters are kept. */
  push(chunk: Uint8Array): void {
    const text = this.#open + this.#decoder.decode(chunk, { stream: true });
    const lines = text.split(/\r?\n/);
    this.#open = (lines.pop() ?? "").slice(-KEPT_CHARACTERS);
    for (const line of lines) {
      const { isFrame, block } = readTrace(line, this.#block);
      this.#block = block;
      if (!isFrame) this.#keep(line.slice(-KEPT_CHARACTERS));
    }
  }

  /**
   * Returns the last lines without secrets and stacks; lines with an error that came before replace
   * the first of those without one.
   */
  toString(): string {
    const { isFrame } = readTrace(this.#open, this.#block);
    const all = [
      ...this.#errors,
      ...this.#lines,
      ...isFrame ? [] : [this.#open],
    ];
    const lines = hideSecrets(all.join("\n")).split("\n");
    const text = mostTelling(lines).join("\n");
    // Cut between words, since half a secret is not recognised.
    const shown = text.length > SHOWN_CHARACTERS
      ? text.slice(-SHOWN_CHARACTERS).replace(/^\S*/, "")
      : text;
    return shown.trimEnd();
  }

  #keep(line: string): void {
    this.#lines.push(line);
    this.#length += line.length;
    while (this.#length > KEPT_CHARACTERS && this.#lines.length > 1) {
      const first = this.#lines.shift() ?? "";
      this.#length -= first.length;
      const isError = first.length <= MAX_ERROR_LENGTH && ERROR.test(first);
      if (isError) this.#errors.push(first);
      if (this.#errors.length > SHOWN_LINES) this.#errors.shift();
    }
  }
}

/** Picks the lines to show, in their order. */
function mostTelling(lines: readonly string[]): string[] {
  const shown = lines.slice(-SHOWN_LINES);
  const errors = lines.slice(0, -SHOWN_LINES)
    .filter((line) => ERROR.test(line));
  for (const error of errors.reverse()) {
    const spare = shown.findIndex((line) => !ERROR.test(line));
    // The last line is where it ended.
    if (spare === -1 || spare === shown.length - 1) break;
    shown.splice(spare, 1);
    shown.unshift(error);
  }
  return shown;
}

/** Parts of stacks: the line that begins one, and what continues it. */
const BLOCKS: readonly (readonly [begins: RegExp, continues: RegExp])[] = [
  // Python, also with loguru: a frame, its source text, and the marks below that
  [/^(\s*|> )File ".*", line \d+/, /^\s{4,}\S/],
  // Python with rich
  [/^\s*╭.*Traceback/, /^\s*[│╰]/],
  // Go: a call, and its place
  [
    /^goroutine \d+ .*\[.*\]:$/,
    /^\t|^created by |^[^\s(]\S*\(.*\)$|^\.\.\./,
  ],
  // Rust
  [/^\s*stack backtrace:/i, /^\s*\d+: |^\s+at /],
  // Lua
  [/^\s*stack traceback:$/, /^\s+(\S.*: in |\(\.\.\.tail calls|\.\.\.)/],
  // Haskell
  [
    /^\s*CallStack \(from .*\):$/,
    /^\s+\S.*(, called at \S+:\d+:\d+ in |\(\S+:\d+)/,
  ],
  // Julia
  [/^\s*Stacktrace:$/, /^\s*(\[\d+\] |@ )/],
  // C: the map of the memory
  [/^=+ Memory map: =+$/, /^[\da-f]+-[\da-f]+ [r-][w-]/],
  // Node.js: a place, and its source text, up to an empty line
  [/^(file:|node:|\/|[A-Za-z]:\\)\S*:\d+$/, /^(?!\w*(Error|Exception)\b)\s*\S/],
];

/** Lines of stacks, and around them, that are recognised by themselves. */
const FRAMES: readonly RegExp[] = [
  // JavaScript, Java, C#
  /^\s*at (?!least |most |the |an? )\S.*(\)|:\d+|<anonymous>|:line \d+|\])( \{)?$/,
  /^\s*\.\.\. \d+ (more|common frames omitted)/,
  /^Node\.js v\d+\./,
  // Python, also in groups of exceptions
  /^\s*(\+ )?(Exception Group )?Traceback \(most recent call last\):$/,
  /^\s*\[Previous line repeated \d+ more times?\]$/,
  /^\s*\+[-+]+( [\d.]+ -+)?$/,
  // Rust
  /^\s*note: (run with `RUST_BACKTRACE|Some details are omitted)/,
  // Ruby, PHP, Dart, debuggers, Perl, Elixir
  /^\s+(\d+: )?from .+:\d+(:in .*)?$/,
  /^\s*(Stack trace:$|#\d+\s+(\{main\}|\[internal|0x|.*[(:]\d+\)))/,
  /^\s+\S+\([^()]*\) called at \S+ line \d+\.?$/,
  /^\s+\([\w.]+( [\w.-]+)?\) \S+:\d+: /,
  // Dart, C#, OCaml, C, Swift
  /^<asynchronous suspension>$/,
  /^\s*--- End of .*stack trace.* ---$/,
  /^(Raised|Re-raised|Called) .*\bfile ".*".*, lines? \d+/,
  /^=+ Backtrace: =+$/,
  /^[^\s([]*(\([^()]*\))? ?\[0x[\da-f]+\]$/,
  /^\s*\d+\s+(\S+\s+)?0x[\da-f]+\s/,
  // marks below a source text
  /^\s*[\^~][\^~\s]*$/,
];

/**
 * Returns whether a line is empty or of a stack, and what continues the block that it is in.
 *
 * @param block what continues the block of the line before
 */
function readTrace(
  line: string,
  block: RegExp | undefined,
): { isFrame: boolean; block: RegExp | undefined } {
  const bare = line.slice(0, MAX_FRAME_LENGTH)
    .replace(/^(\s*\|)+ ?/, ""); // in a group of exceptions of Python
  if (bare.trim() === "") return { isFrame: true, block: undefined };
  if (block?.test(bare)) return { isFrame: true, block };
  const begun = BLOCKS.find(([begins]) => begins.test(bare));
  if (begun) return { isFrame: true, block: begun[1] };
  const isFrame = FRAMES.some((frame) => frame.test(bare));
  return { isFrame, block: undefined };
}
