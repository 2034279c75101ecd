import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Block, codeBlocks } from "../../docs/support/blocks.ts";
import type { Child } from "../../support/child.ts";
import { NOT_RUN } from "../not_run.ts";
import {
  type Machine,
  type MachineOptions,
  startMachine,
  WITHOUT_MACHINES,
} from "./machine.ts";

/** What is on a machine before a block is run; all of it ends with the machine. */
export interface Given {
  readonly machine: Machine;
  /** Starts a line that serves, and resolves with what matches when it does. */
  serve(
    line: string,
    until?: RegExp,
    env?: Readonly<Record<string, string>>,
  ): Promise<RegExpMatchArray>;
  /** Ends something with the machine. */
  defer(end: () => PromiseLike<void>): void;
}

/** A command that the reader has run before, as a page writes it; in the folder that it says. */
export type Before = string | readonly [line: string, folder: string];

/** What a reader has by other ways than the pages. */
export interface Prepared {
  /** Why the pages do not say how to make it. */
  readonly because: string;
  /** Makes it; returns variables of the environment. */
  readonly make: (given: Given) => Promise<Record<string, string> | void>;
}

/** A block of a page, and what its reader has and sees. */
export interface Scene {
  readonly page: string;
  /** What this block alone has, of all that the page shows. */
  readonly has: string;
  /** Other blocks of the page that it runs too, each by what it alone has. */
  readonly covers?: readonly string[];
  /** The folder in which the commands are run; default: an empty one. */
  readonly folder?: string;
  /** The machine; default: one without a network, on which everything has been fetched. */
  readonly machine?: MachineOptions;
  /** What the reader has beside what the pages say. */
  readonly prepared?: Prepared;
  /** The files that the reader has saved of this page, by what their blocks alone have. */
  readonly saves?: Readonly<Record<string, string>>;
  /** The commands that the reader has run before; those that serve still do. */
  readonly before?: readonly Before[];
  /** What lines write, by a part of each; for one that stays, until the end. */
  readonly sees?: Readonly<Record<string, RegExp>>;
  /** Warnings that are meant. */
  readonly warns?: RegExp;
  /** What follows while everything is still running. */
  readonly then?: (given: Given) => Promise<void>;
  /** Says why it cannot be run here; "" where it can. */
  readonly ignore?: string;
}

/** What is ready without a word. */
const NOTHING = /^/;

/** Lines that stay until Ctrl-C, and what they write when they are ready. */
const SERVING: readonly (readonly [line: RegExp, ...ready: RegExp[]])[] = [
  [
    /^(\S+=\S+ )*smcp-server( --|$)/,
    / listening on |"message":"[^"]* listening on /,
  ],
  [
    /^(\S+=\S+ )*(smcp-computer run|(smcp|deno run \S+ \S+mod\.ts) up) /,
    /^joined office /,
    /^MCP server \S+: running/,
  ],
  [/^deno serve /, /Listening on /],
  [/^smcp-server watch/, NOTHING],
];

/** Lines that the reader ends with Ctrl-C before the next one, and what they write when they are ready. */
const FOLLOWING: readonly (readonly [line: RegExp, ready: RegExp])[] = [
  [/^smcp-agent desktop --follow/, /./],
  [/^smcp-agent watch/, /^watching the office/],
];

/** Of the log; and what a runtime writes about an error that nobody handles. */
const TROUBLE =
  /\[(WRN|ERR|FTL)\]|"level":"(warning|error|fatal)"|Uncaught|Unexpected:/;

/** Makes a test of each scene. */
export function play(scenes: readonly Scene[]): void {
  for (const scene of scenes) {
    const ignored = WITHOUT_MACHINES || (scene.ignore ?? "");
    Deno.test({
      name: `${scene.page} as it is written: ${scene.has}${ignored}`,
      ignore: ignored !== "",
      timeout: scene.machine ? 900_000 : 120_000, // what is fetched takes its time
      fn: () => run(scene),
    });
  }
}

async function run(scene: Scene): Promise<void> {
  const { page, folder = ".", before = [], saves = {}, sees = {} } = scene;
  const { code, language } = await blockOf(scene);
  await using stack = new AsyncDisposableStack();
  const machine = stack.use(await startMachine(scene.machine));
  const serve = async (
    line: string,
    until = NOTHING,
    env: Readonly<Record<string, string>> = {},
  ) => {
    const child = stack.use(machine.start(line, env));
    stack.defer(() => child.signal("SIGKILL"));
    for (const ready of readyOf(line)) await child.line(ready);
    return await child.line(until);
  };
  const given: Given = { machine, serve, defer: (end) => stack.defer(end) };
  const env = await scene.prepared?.make(given) ?? {};
  for (const [file, has] of Object.entries(saves)) {
    await machine.save(file, (await savedOf(page, has)).code);
  }
  const terminal = stack.use(new Terminal(machine, env));
  for (const each of before) {
    const [line, where] = typeof each === "string" ? [each, "."] : each;
    await terminal.type(line, where);
  }
  const seen = new Set<string>();
  // A program is run by what is prepared for it.
  for (const line of language === "sh" ? linesOf(code) : []) {
    if (isNotRun(page, line)) continue;
    const expected = Object.entries(sees).filter(([part]) =>
      line.includes(part)
    );
    expected.forEach(([part]) => seen.add(part));
    await terminal.type(line, folder, expected.map(([, text]) => text), scene);
  }
  assertEquals(Object.keys(sees).filter((part) => !seen.has(part)), []);
  await scene.then?.(given);
  await terminal.interrupt(scene);
}

/** What somebody types, with the variables of the lines before; what serves has a terminal of its own. */
class Terminal implements AsyncDisposable {
  readonly #machine: Machine;
  readonly #env: Readonly<Record<string, string>>;
  readonly #serving: Child[] = [];
  readonly #stack = new AsyncDisposableStack();

  constructor(machine: Machine, env: Readonly<Record<string, string>>) {
    this.#machine = machine;
    this.#env = env;
  }

  /** Runs a line: to its end, or until it serves; fails without what is expected. */
  async type(
    line: string,
    folder = ".",
    expected: readonly RegExp[] = [],
    { warns }: Pick<Scene, "warns"> = {},
  ): Promise<void> {
    const state = `${this.#machine.home}/state.sh`;
    await Deno.writeTextFile(state, "", { append: true });
    const child = this.#stack.use(
      this.#machine.start(`cd ${folder}\n${shellLine(state, line)}`, this.#env),
    );
    if (isServing(line)) {
      this.#serving.push(child);
      for (const text of [...readyOf(line), ...expected]) {
        await child.line(text);
      }
      return;
    }
    const ready = FOLLOWING.find(([pattern]) => pattern.test(line))?.[1];
    if (ready) {
      await child.line(ready);
      for (const text of expected) await child.line(text);
      child.signal("SIGINT");
    }
    const { code } = await child.status;
    const output = child.lines.join("\n");
    assert(
      code === 0 || ready && code === 130,
      `${line} ends with ${code}\n${output}`,
    );
    for (const text of expected) assertMatch(output, text, line);
    assertEquals(troublesOf(child, warns), [], line);
    await this.#machine.pinVersions();
  }

  /** Presses Ctrl-C where something serves, the last one first. */
  async interrupt({ warns }: Pick<Scene, "warns">): Promise<void> {
    for (const child of this.#serving.toReversed()) {
      child.signal("SIGINT");
      const { code, signal } = await child.status;
      const output = child.lines.join("\n");
      assert([0, 130].includes(code), `${code} ${signal}\n${output}`);
      assertEquals(troublesOf(child, warns), []);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#serving) child.signal("SIGKILL");
    await this.#stack.disposeAsync();
  }
}

/** The languages of commands and programs. */
export const RUNNABLE: readonly string[] = ["sh", "console", "ts", "python"];

/** The languages of files that readers save. */
const SAVED = ["ts", "json"];

/** A block that readers save as a file. */
export const savedOf = (page: string, has: string): Promise<Block> =>
  blockOf({ page, has }, SAVED);

/** The block of a scene. */
export async function blockOf(
  { page, has }: Pick<Scene, "page" | "has">,
  languages = RUNNABLE,
): Promise<Block> {
  const found = (await codeBlocks()).filter(({ at, code, language }) =>
    at.startsWith(`${page}:`) && code.includes(has) &&
    languages.includes(language)
  );
  const [block] = found;
  assert(
    block && found.length === 1,
    `${page}: ${found.length} blocks have ${has}`,
  );
  return block;
}

/** The commands of a block. */
export const linesOf = (code: string): string[] =>
  code.split("\n").filter((line) => line.trim() !== "");

/** Tells whether a line is among those that cannot be run. */
export const isNotRun = (page: string, line: string): boolean =>
  NOT_RUN.some((entry) => entry.page === page && entry.line === line);

const isServing = (line: string): boolean =>
  SERVING.some(([pattern]) => pattern.test(line));

const readyOf = (line: string): RegExp[] =>
  SERVING.find(([pattern]) => pattern.test(line))?.slice(1) ?? [];

/** A line in a shell that has the variables of the lines before. */
const shellLine = (state: string, line: string): string =>
  isServing(line)
    ? `set -a; . "${state}"; set +a\n${line}`
    : `set -a; . "${state}"\n${line}\ncode=$?; export -p > "${state}"; exit $code`;

const troublesOf = ({ lines }: Child, warns?: RegExp): string[] =>
  lines.filter((line) => TROUBLE.test(line) && !warns?.test(line));
