/**
 * The tasks of an office.
 *
 * A task is kept for the time that its description names, whatever else comes: where there is no room for
 * another one, a call stays a request that its client waits for. Only of results there may be too many
 * bytes; then one is replaced with an error.
 *
 * @module
 */
import type { McpCaller } from "../caller.ts";
import { ownerOf } from "../../shared/gateway.ts";
import type { DescribedTask } from "./extension.ts";
import { Task } from "./task.ts";
import { failure } from "../tools/result.ts";
import { roomOf } from "../../shared/json/values.ts";

/** The most tasks of a principal, by whichever sign-ins, and of all of them, in an office. */
const MAX_PER_PRINCIPAL = 1_000;
const MAX_TASKS = 5_000;
/** The most letters of the results that are kept, of a principal and of all of them; a value counts as some. */
const MAX_LETTERS_PER_PRINCIPAL = 16 * 2 ** 20;
const MAX_LETTERS = 64 * 2 ** 20;

/** A task of a table, and what ends with it. */
interface Entry {
  readonly task: Task;
  /** Whose room it takes; empty without authentication. */
  readonly principal: string;
  /** Ends what it holds; once. */
  release: () => void;
  /** What its result weighs. */
  letters: number;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** The tasks of the clients of one office, which alone see theirs. */
export class TaskTable {
  readonly #hold: () => () => void;
  /** By id; the oldest come first. */
  readonly #entries = new Map<string, Entry>();
  /** How many a principal has, and how much their results weigh. */
  readonly #counts = new Map<string, number>();
  readonly #letters = new Map<string, number>();
  readonly #listeners = new Set<(task: DescribedTask) => void>();

  /** @param hold called when a task begins; returns what is called when it ends */
  constructor(hold: () => () => void = () => () => {}) {
    this.#hold = hold;
  }

  /**
   * Begins a task, which is its caller's.
   *
   * @param ttlMs how long it is kept, if it does not end
   * @param cancel ends its call
   * @returns `undefined` where there is no room for another one
   */
  begin(
    caller: McpCaller,
    ttlMs: number,
    cancel: (why: string) => void,
  ): Task | undefined {
    const { principal = "" } = caller;
    const own = this.#counts.get(principal) ?? 0;
    if (own >= MAX_PER_PRINCIPAL || this.#entries.size >= MAX_TASKS) {
      return undefined;
    }
    this.#counts.set(principal, own + 1);
    const changed = () => this.#changed(entry);
    const task = new Task(ownerOf(caller), ttlMs, { cancel, changed });
    const release = this.#hold();
    const entry: Entry = {
      task,
      principal,
      release,
      letters: 0,
      timer: undefined,
    };
    this.#entries.set(task.id, entry);
    this.#keep(entry);
    return task;
  }

  /** Finds a task of an owner; those of others do not exist for it. */
  find(id: string, owner: string): Task | undefined {
    const entry = this.#entries.get(id);
    if (entry?.task.owner !== owner) return undefined;
    if (entry.task.leftMs > 0) return entry.task;
    this.#drop(entry);
    return undefined;
  }

  /** How many there are, those that have ended too. */
  get size(): number {
    return this.#entries.size;
  }

  /** Describes a task of any owner. */
  describe(id: string): DescribedTask | undefined {
    return this.#entries.get(id)?.task.describe();
  }

  /** Adds a listener for tasks that change; returns what removes it. */
  onChange(listener: (task: DescribedTask) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Cancels and forgets all tasks of an owner, so that no later one of that name finds them. */
  forget(owner: string): void {
    for (const entry of this.#entries.values()) {
      if (entry.task.owner === owner) {
        this.#drop(entry, "its credentials are not valid any more");
      }
    }
  }

  /** Cancels all tasks, and forgets them. */
  close(): void {
    this.#listeners.clear();
    for (const entry of this.#entries.values()) this.#drop(entry);
  }

  #changed(entry: Entry): void {
    const { task } = entry;
    this.#keep(entry);
    if (!task.isOpen) {
      entry.release();
      entry.release = () => {};
    }
    if (task.result) this.#fit(entry);
    for (const listener of this.#listeners) listener(task.describe());
  }

  /** Forgets a task when its time is over. */
  #keep(entry: Entry): void {
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => {
      if (entry.task.leftMs > 0) this.#keep(entry); // the clock was set back
      else this.#drop(entry);
    }, entry.task.leftMs);
  }

  #drop(entry: Entry, why = "its time is over"): void {
    const { task, principal } = entry;
    task.cancel(why);
    clearTimeout(entry.timer);
    this.#weighs(entry, 0);
    if (!this.#entries.delete(task.id)) return;
    const others = (this.#counts.get(principal) ?? 0) - 1;
    if (others > 0) this.#counts.set(principal, others);
    else this.#counts.delete(principal);
  }

  #fit(entry: Entry): void {
    this.#weighs(entry, roomOf(entry.task.result));
    for (let heavy; (heavy = this.#excessive()) !== undefined;) {
      const kept = [...this.#entries.values()].filter(
        ({ principal, letters }) => principal === heavy && letters > 0,
      );
      const next = kept.find(({ task }) => task.isFetched) ?? kept[0];
      if (next === undefined) return;
      next.task.forgetResult(NOT_KEPT);
      this.#weighs(next, 0);
    }
  }

  /** The principal whose results take too much room, if one does. */
  #excessive(): string | undefined {
    const heavy = [...this.#letters].toSorted(([, a], [, b]) => b - a);
    const [principal, letters] = heavy[0] ?? [undefined, 0];
    const all = heavy.reduce((sum, [, each]) => sum + each, 0);
    const isOver = letters > MAX_LETTERS_PER_PRINCIPAL || all > MAX_LETTERS;
    return isOver ? principal : undefined;
  }

  #weighs(entry: Entry, letters: number): void {
    const { principal } = entry;
    const sum = (this.#letters.get(principal) ?? 0) - entry.letters + letters;
    entry.letters = letters;
    if (sum > 0) this.#letters.set(principal, sum);
    else this.#letters.delete(principal);
  }
}

/** The result of a task whose own took too much room. */
const NOT_KEPT = {
  ...failure(
    "too_large",
    "The tool has run, and its result is not kept any more: the results of other tasks took the room, which is limited. Ask for less at once, or read results when their tasks end",
  ),
  resultType: "complete",
};
