import { Socket } from "node:net";
import { assert, assertEquals } from "@std/assert";
import {
  isClosedOutput,
  LineQueue,
  type LineStream,
  patientStream,
} from "../../../cli/output.ts";
import {
  brief,
  columns,
  pad,
  plain,
  plainLines,
  progressText,
  shorten,
  textWidth,
  wrap,
} from "../../../cli/terminal_text.ts";
import { steps } from "../../support/texts/steps.ts";
import { keepTimers } from "../../support/timers.ts";

/** A stream whose writes end when the test says so. */
class SlowStream implements LineStream {
  readonly written: string[] = [];
  readonly #done: ((error?: Error | null) => void)[] = [];
  unreferenced = false;

  write(text: string, done: (error?: Error | null) => void): void {
    this.written.push(text);
    this.#done.push(done);
  }

  on(): void {}

  unref(): void {
    this.unreferenced = true;
  }

  /** Ends the oldest write. */
  end(error?: Error): void {
    this.#done.shift()?.(error);
  }
}

/** A queue of at most ten characters, with these lines in it. */
function queueOf(...lines: string[]) {
  const stream = new SlowStream();
  const queue = new LineQueue(stream, {
    most: 10,
    leftOut: (lines: number) => `(${lines} left out)\n`,
  });
  for (const line of lines) queue.add(line);
  return { stream, queue };
}

/** Ends the oldest write, and waits for the turn in which the next one begins. */
async function endOne(stream: SlowStream): Promise<void> {
  stream.end();
  await new Promise((resolve) => setImmediate(resolve));
}

Deno.test("LineQueue writes a line at once, has one write on its way, and joins the lines that wait in their order", async () => {
  const { stream, queue } = queueOf("a\n", "b\n", "c\n");
  assertEquals(stream.written, ["a\n"]);
  await endOne(stream);
  assertEquals(stream.written, ["a\n", "b\nc\n"]);
  await endOne(stream);
  queue.add("d\n");
  assertEquals(stream.written.at(-1), "d\n");
});

Deno.test("LineQueue joins the lines of one turn of the event loop, although the stream has taken the first", () => {
  const { stream, queue } = queueOf("a\n");
  const written = Promise.withResolvers<void>();
  stream.end();
  queue.add("b\n");
  setImmediate(() => {
    assertEquals(stream.written, ["a\n", "b\nc\n"]);
    written.resolve();
  });
  queue.add("c\n");
  assertEquals(stream.written, ["a\n"]);
  return written.promise;
});

Deno.test("LineQueue counts what comes beyond its bound, and says so once the reader goes on", async () => {
  const { stream, queue } = queueOf("aaaa\n", "bbbb\n");
  queue.add("c\nd\n", 2); // beyond
  queue.add("e\n");
  await endOne(stream); // there would be room again, but not before the gap
  queue.add("f\n");
  await endOne(stream);
  assertEquals(stream.written, ["aaaa\n", "bbbb\n", "(4 left out)\n"]);
  await endOne(stream);
  queue.add("g\n");
  assertEquals(stream.written.at(-1), "g\n");
});

Deno.test("LineQueue writes a text that is larger than its bound when nothing else waits", async () => {
  const long = `${"x".repeat(99)}\n`;
  const { stream, queue } = queueOf(long);
  assertEquals(stream.written, [long]);
  queue.add("y\n");
  await endOne(stream);
  assertEquals(stream.written, [long, "(1 left out)\n"]);
});

Deno.test("LineQueue.flush() ends with the last write, or at its deadline, from which on nothing keeps the process", async () => {
  const { stream, queue } = queueOf();
  await queue.flush(60_000);
  queue.add("a\n");
  queue.add("b\n");
  const flushed = queue.flush(60_000);
  await endOne(stream);
  await endOne(stream);
  await flushed;
  assertEquals(stream.unreferenced, false);
  queue.add("c\n");
  await queue.flush(1);
  assertEquals(stream.unreferenced, true);
});

Deno.test("LineQueue.flush() waits for a reader that reads, however slowly", async () => {
  using time = keepTimers(4_321);
  const { stream, queue } = queueOf("a\n", "b\n");
  let isFlushed = false;
  const flushed = queue.flush(4_321).then(() => isFlushed = true);
  for (const written of [2, 3]) {
    await endOne(stream);
    queue.add("c\n");
    time.fire();
    await new Promise((resolve) => setTimeout(resolve, 0));
    assertEquals([stream.written.length, isFlushed], [written, false]);
  }
  time.fire(); // nothing was read since
  await flushed;
  assertEquals(stream.unreferenced, true);
});

Deno.test("LineQueue tries again after a failure, and says what was lost", async () => {
  const { stream, queue } = queueOf("a\n", "b\n");
  stream.end(new Error("ENOSPC: no space left on device"));
  queue.add("c\n");
  await endOne(stream);
  assertEquals(stream.written, ["a\n", "(2 left out)\nc\n"]);
});

Deno.test("LineQueue writes nothing more once its reader is gone", async () => {
  const { stream, queue } = queueOf("a\n", "b\n");
  const flushed = queue.flush(60_000);
  stream.end(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
  await flushed;
  queue.add("c\n");
  assertEquals(stream.written, ["a\n"]);
});

Deno.test("patientStream() takes the blocking off a terminal, leaves sockets as they are, and files", () => {
  const set: boolean[] = [];
  const stream = new SlowStream();
  const terminal = Object.assign(new SlowStream(), {
    isTTY: true,
    _handle: { setBlocking: (blocking: boolean) => set.push(blocking) },
  });
  assertEquals(patientStream(terminal, Socket) === terminal, true);
  assertEquals(set, [false]);
  const isOne = class extends SlowStream {};
  const socket = new isOne();
  assertEquals(patientStream(socket, isOne) === socket, true);
  const made: unknown[] = [];
  const makes = class extends SlowStream {
    constructor(options: unknown) {
      super();
      made.push(options);
    }
  };
  assertEquals(patientStream(stream, makes) instanceof makes, true);
  assertEquals(made, [{ fd: 2, readable: false, writable: true }]);
  const refuses = class extends SlowStream {
    constructor() {
      super();
      throw new TypeError("Unsupported fd type: FILE");
    }
  };
  assertEquals(patientStream(stream, refuses) === stream, true);
});

Deno.test("isClosedOutput() goes by the code, whatever the message says", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", ""],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  await child.status;
  const writer = child.stdin.getWriter();
  // A process that another test has just begun to start may hold the other end for a moment.
  let error: unknown;
  while (error === undefined) {
    error = await writer.write(new Uint8Array(1)).catch((e: unknown) => e);
  }
  assertEquals(isClosedOutput(error), true, String(error)); // of the system
  const said = new Error("The MCP server wrote: Broken pipe, EPIPE");
  assertEquals(isClosedOutput(said), false);
  assertEquals(isClosedOutput(Object.assign(said, { code: "EIO" })), true);
});

Deno.test("textWidth() counts the columns that a terminal takes", () => {
  const rows: [text: string, width: number][] = [
    ["", 0],
    ["plain", 5],
    ["naïve", 5],
    ["nai\u0308ve", 5],
    ["日本語", 6],
    ["サーバー", 8],
    ["한국어", 6],
    ["ｆｕｌｌ", 8],
    ["（）、。", 8],
    ["😀", 2],
    ["🇩🇪", 2],
    ["✓ ● ▸ …", 7],
    // Wide since Unicode 16, and a place for a further emoji.
    ["\u2630\u268a\u{1d300}\u{1fadf}", 8],
  ];
  for (const [text, width] of rows) assertEquals(textWidth(text), width, text);
});

Deno.test("shorten() and pad() count in columns, not characters", () => {
  assertEquals(shorten("日本語", 6), "日本語");
  assertEquals(shorten("日本語", 5), "日本…");
  assertEquals(shorten("日本語", 4), "日…");
  assertEquals(shorten("abc", 0), "");
  assertEquals(pad("日本", 6), "日本  ");
  assertEquals(columns([["日本", "x"], ["abc", "y"]]), ["日本  x", "abc   y"]);
});

Deno.test("wrap() breaks lines between words, and longer words but for URLs, and indents the rest", () => {
  const url = "http://127.0.0.1/authorize";
  const rows: [text: string, columns: number, wrapped: string][] = [
    [
      "one two three\n  four five six",
      9,
      "one two\n  three\n  four\n    five\n    six",
    ],
    ["short", 9, "short"],
    ["x 日本語日本語", 7, "x 日本\n  語日\n  本語"],
    [`see ${url} now`, 10, `see\n  ${url}\n  now`],
  ];
  for (const [text, columns, wrapped] of rows) {
    assertEquals(wrap(text, columns), wrapped);
  }
  assertEquals(wrap("a://b/cdef", 5, () => false), "a://b\n  /cd\n  ef");
});

Deno.test("wrap() looks at each character a few times, however long words and lines are", () => {
  const texts: [name: string, of: (n: number) => string][] = [
    ["marks", (n) => `a${"\u0301".repeat(n)}${"b".repeat(n / 40)}`],
    ["letters", (n) => "ж".repeat(n)],
    ["wide letters", (n) => "漢".repeat(n)],
    ["words", (n) => "слово ".repeat(n / 6)],
    ["marks between words", (n) => "а\u0301 ".repeat(n / 3)],
    ["lines", (n) => "жжж\n".repeat(n / 4)],
    ["an address", (n) => `https://${"ж".repeat(n)}`],
  ];
  for (const [name, of] of texts) {
    for (const columns of [1, 10, 80, 1_000]) {
      const text = of(12_000);
      const most = 6 * text.length;
      for (const lay of [wrap, shorten]) {
        const count = steps(() => lay(text, columns));
        assert(count <= most, `${name} at ${columns}: ${count}`);
      }
    }
  }
});

Deno.test("brief() looks at little more than it shows", () => {
  for (const part of ["ж", "漢", "\u200b\u200c", "\u001b", "👩‍⚕️"]) {
    const shown = brief(part.repeat(1_000), 20);
    assertEquals(textWidth(shown) <= 20 && shown.endsWith("…"), true, shown);
    const few = steps(() => brief(part.repeat(10_000), 20));
    assertEquals(steps(() => brief(part.repeat(100_000), 20)), few);
  }
  assertEquals(brief("a\u001b", 20), "a⟨U+001B⟩");
});

Deno.test("plain() and plainLines() leave nothing that acts on a terminal", () => {
  assertEquals(
    plain("a\u001b[2J\n\u202e"),
    "a⟨U+001B⟩[2J⟨U+000A⟩⟨U+202E⟩",
  );
  assertEquals(plainLines("a\r\nb\tc\u009b"), "a\nb\tc⟨U+009B⟩");
});

Deno.test("progressText() says how far a call is in a few characters", () => {
  const rows: [progress: Parameters<typeof progressText>[0], text: string][] = [
    [{ progress: 3 }, "3"],
    [{ progress: 1 / 3, total: 1 }, "0.33/1"],
    [{ progress: 3, total: 5, message: "" }, "3/5"],
    [{ progress: 3, total: 5, message: "reading" }, "3/5 reading"],
  ];
  for (const [progress, text] of rows) {
    assertEquals(progressText(progress), text);
  }
});
