import unicode11 from "@xterm/addon-unicode11";
import xterm from "@xterm/headless";

/** The visible state of a terminal. */
export interface Screen {
  /** The visible rows, without trailing spaces. */
  readonly rows: readonly string[];
  /** The same as one text. */
  readonly text: string;
  /** Includes scrolled rows; wrapped rows are joined. */
  readonly all: string;
  /** The number of wrapped rows. */
  readonly wrapped: readonly string[];
  /** The position of the cursor, from 0, and whether it is visible. */
  readonly cursor: {
    readonly x: number;
    readonly y: number;
    readonly shown: boolean;
  };
  /** Whether it is the alternate screen. */
  readonly alternate: boolean;
}

/** The operating system command with which a script sends invisible messages to an {@linkcode Emulator}. */
export const TOLD = 5555;

/** With `␛` for Escape. */
const legible = (text: string): string => text.replaceAll("\x1b", "␛");

/** An unfinished synchronized update, or the possible beginning of one. */
const UNFINISHED = /␛\[\?2026h(?![^]*␛\[\?2026l)|␛(\[[?\d]*)?$/;

/** Time limit for awaiting a screen. */
const SCREEN_TIMEOUT_MS = 60_000;

/** A terminal's screen, and the waiters for its changes. */
export class Emulator {
  readonly #terminal: xterm.Terminal;
  readonly #facts = new Map<string, string>();
  readonly #waiting = new Set<() => void>();
  #coming = "";
  #shown = true;
  #ended = false;
  /** All input so far; `␛` stands for Escape. */
  written = "";

  /** Creates an empty screen of this size. */
  constructor(cols: number, rows: number) {
    this.#terminal = new xterm.Terminal({
      cols,
      rows,
      scrollback: 10_000,
      allowProposedApi: true,
    });
    this.#terminal.loadAddon(new unicode11.Unicode11Addon());
    this.#terminal.unicode.activeVersion = "11"; // emoji are as wide as everywhere today
    const { parser } = this.#terminal;
    parser.registerOscHandler(TOLD, (text) => {
      const [, name = "", value = ""] = /^(\w+)=(.*)$/.exec(text) ?? [];
      this.#facts.set(name, value);
      return true;
    });
    for (const final of ["h", "l"]) {
      parser.registerCsiHandler({ prefix: "?", final }, (params) => {
        if (params.includes(25)) this.#shown = final === "h";
        return false;
      });
    }
  }

  /** Receives output of a command; synchronized updates become visible when complete. */
  async take(text: string): Promise<void> {
    this.#coming += text;
    await this.#show(legible(this.#coming).search(UNFINISHED));
  }

  /** Changes its size. */
  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
    this.#changed();
  }

  /** Notes the end of the output. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#show(-1);
  }

  /** Releases its memory. */
  close(): void {
    this.#terminal.dispose();
  }

  /** A fact that was told, or will be. */
  async told(name: string): Promise<string> {
    await this.until(() => this.#facts.has(name), name);
    return this.#facts.get(name) ?? "";
  }

  /**
   * Resolves with the screen when it satisfies a condition; rejects at the end of the output.
   *
   * Fails before the test's own timeout, to show the actual screen.
   */
  until(wanted: (screen: Screen) => boolean, name: string): Promise<Screen> {
    const { promise, resolve, reject } = Promise.withResolvers<Screen>();
    const fail = (what: string) =>
      reject(new Error(`${what} ${name}:\n${this.screen().all}`));
    const look = () => {
      const screen = this.screen();
      if (wanted(screen)) resolve(screen);
      else if (this.#ended) fail("the command ended without");
    };
    const late = setTimeout(
      () => fail("the screen never had"),
      SCREEN_TIMEOUT_MS,
    );
    this.#waiting.add(look);
    look();
    return promise.finally(() => {
      clearTimeout(late);
      this.#waiting.delete(look);
    });
  }

  /** The current screen. */
  screen(): Screen {
    const { active } = this.#terminal.buffer;
    const lines = this.#lines();
    const rows = lines.slice(active.baseY)
      .map((line) => line.translateToString(true).trimEnd());
    return {
      rows,
      text: rows.join("\n"),
      all: lines.map((line, y) =>
        line.isWrapped || y === 0
          ? line.translateToString()
          : `\n${line.translateToString()}`
      ).join("").replaceAll(/ +$/gm, ""),
      wrapped: lines.filter((_, y) => lines[y + 1]?.isWrapped)
        .map((line) => line.translateToString()),
      cursor: { x: active.cursorX, y: active.cursorY, shown: this.#shown },
      alternate: active.type === "alternate",
    };
  }

  /** The palette index of a text's first color; undefined for the default one. */
  colourOf(text: string): number | undefined {
    for (const line of this.#lines()) {
      const x = cells(line).findIndex((_, x) =>
        line.translateToString(true, x).startsWith(text)
      );
      const cell = line.getCell(x);
      if (cell) return cell.isFgDefault() ? undefined : cell.getFgColor();
    }
    throw new Error(`"${text}" is not on the screen`);
  }

  /** Whether anything is colored, bold or dim. */
  get styled(): boolean {
    return this.#lines().flatMap(cells).some((c) => !c.isAttributeDefault());
  }

  #lines(): xterm.IBufferLine[] {
    const { active } = this.#terminal.buffer;
    return Array.from({ length: active.length }, (_, y) => active.getLine(y))
      .filter((line) => line !== undefined);
  }

  /** @param until where to stop; -1 for not at all */
  async #show(until: number): Promise<void> {
    const text = until < 0 ? this.#coming : this.#coming.slice(0, until);
    this.#coming = this.#coming.slice(text.length);
    this.written += legible(text);
    await new Promise<void>((done) => this.#terminal.write(text, done));
    this.#changed();
  }

  #changed(): void {
    for (const look of [...this.#waiting]) look();
  }
}

const cells = (line: xterm.IBufferLine): xterm.IBufferCell[] =>
  Array.from({ length: line.length }, (_, x) => line.getCell(x))
    .filter((cell) => cell !== undefined);
