import unicode11 from "@xterm/addon-unicode11";
import xterm from "@xterm/headless";

/** What a person sees on a terminal at one moment. */
export interface Screen {
  /** The rows that are visible, without spaces at their ends. */
  readonly rows: readonly string[];
  /** The same as one text. */
  readonly text: string;
  /** With what was scrolled away above; rows that are one line are one again. */
  readonly all: string;
  /** Rows that go on in the next one because they were too long. */
  readonly wrapped: readonly string[];
  /** Where the cursor is, from 0, and whether it can be seen. */
  readonly cursor: {
    readonly x: number;
    readonly y: number;
    readonly shown: boolean;
  };
  /** Whether it is the screen that programs such as editors switch to. */
  readonly alternate: boolean;
}

/** The operating system command by which a script tells an {@linkcode Emulator} facts, unseen. */
export const TOLD = 5555;

/** With `␛` for Escape. */
const legible = (text: string): string => text.replaceAll("\x1b", "␛");

/** What has begun to be drawn in one go, or may have, and has not ended. */
const UNFINISHED = /␛\[\?2026h(?![^]*␛\[\?2026l)|␛(\[[?\d]*)?$/;

/** Milliseconds after which waiting is in vain. */
const PATIENCE = 60_000;

/** A terminal's screen, and those who wait for it to change. */
export class Emulator {
  readonly #terminal: xterm.Terminal;
  readonly #facts = new Map<string, string>();
  readonly #waiting = new Set<() => void>();
  #coming = "";
  #shown = true;
  #ended = false;
  /** All that it took so far; `␛` stands for Escape. */
  written = "";

  /** Makes a screen of this size, on which is nothing. */
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

  /** Takes output of a command; what is drawn in one go is seen once all of it is there. */
  async take(text: string): Promise<void> {
    this.#coming += text;
    await this.#show(legible(this.#coming).search(UNFINISHED));
  }

  /** Changes its size. */
  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
    this.#changed();
  }

  /** Takes notice that nothing more will come. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#show(-1);
  }

  /** Gives its memory back. */
  close(): void {
    this.#terminal.dispose();
  }

  /** A fact that was told, or will be. */
  async told(name: string): Promise<string> {
    await this.until(() => this.#facts.has(name), name);
    return this.#facts.get(name) ?? "";
  }

  /**
   * The screen as soon as it is as wanted; rejects when nothing more will come.
   *
   * To wait in vain fails before the test's own deadline, to show what there was instead.
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
    const late = setTimeout(() => fail("the screen never had"), PATIENCE);
    this.#waiting.add(look);
    look();
    return promise.finally(() => {
      clearTimeout(late);
      this.#waiting.delete(look);
    });
  }

  /** What is seen now. */
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

  /** Number of the palette's colour that a text begins with; undefined for the default one. */
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

  /** Whether anything has a colour, or is bold or dim. */
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
