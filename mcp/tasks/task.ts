import { randomBytes } from "node:crypto";
import type * as Mcp from "@modelcontextprotocol/server";
import type { DescribedTask, TaskState } from "./extension.ts";
import { invalidParams, messageOf } from "../tools/result.ts";
import { parseElicitResult } from "../../protocol/mod.ts";

/** Milliseconds for which a task is kept after its end. */
export const KEPT_MS = 30 * 60_000;
/** Milliseconds between two requests for a task that runs. */
const POLL_MS = 1_000;
/** The same for one that waits for a person. */
const SLOW_POLL_MS = 3_000;
/** Random bytes of an id. */
const ID_BYTES = 18;

/** The questions of a task that are open, and the answers so far. */
interface OpenQuestions {
  /** The names of the questions at their MCP server, by the task's own. */
  readonly names: ReadonlyMap<string, string>;
  readonly answers: Mcp.InputResponses;
  /** Milliseconds for which the task is kept once all are answered. */
  readonly ttlMs: number;
  readonly answered: (answers: Mcp.InputResponses) => void;
}

/** A call that runs on behind the answer of its request, or its result. */
export class Task {
  readonly id: string = randomBytes(ID_BYTES).toString("base64url");
  /** Whose it is. */
  readonly owner: string;
  /** Whether its owner has read how it ended. */
  isFetched = false;
  readonly #created = Date.now();
  readonly #cancel: (reason: string) => void;
  readonly #changed: (task: Task) => void;
  #updated: number = this.#created;
  #state: TaskState = { status: "working" };
  #message: string | undefined;
  #waitsForPerson = false;
  #ttlMs: number;
  #questions: OpenQuestions | undefined;
  /** How often questions were asked: no name of one is used again. */
  #rounds = 0;

  /**
   * @param ttlMs from now on
   * @param cancel ends the call
   * @param changed called when its state or its time changes
   */
  constructor(owner: string, ttlMs: number, { cancel, changed }: {
    readonly cancel: (reason: string) => void;
    readonly changed: (task: Task) => void;
  }) {
    this.owner = owner;
    this.#ttlMs = ttlMs;
    this.#cancel = cancel;
    this.#changed = changed;
  }

  /** Whether it has not ended. */
  get isOpen(): boolean {
    const { status } = this.#state;
    return status === "working" || status === "input_required";
  }

  /** Milliseconds that are left of its time; the clock of the machine counts, which does not stop in sleep. */
  get leftMs(): number {
    return this.#created + this.#ttlMs - Date.now();
  }

  /** Its result, if it has one. */
  get result(): Mcp.Result | undefined {
    return this.#state.status === "completed" ? this.#state.result : undefined;
  }

  /** Describes it to its owner. */
  describe(): DescribedTask {
    return {
      taskId: this.id,
      ...this.#state,
      ...(this.#message !== undefined && { statusMessage: this.#message }),
      createdAt: new Date(this.#created).toISOString(),
      lastUpdatedAt: new Date(this.#updated).toISOString(),
      ttlMs: this.#ttlMs,
      pollIntervalMs: this.#waitsForPerson ? SLOW_POLL_MS : POLL_MS,
    };
  }

  /**
   * Notes what an open task does.
   *
   * @param waits whether a person is waited for; default as before
   */
  note(message: string | undefined, waits = this.#waitsForPerson): void {
    if (!this.isOpen) return;
    this.#message = message;
    this.#updated = Date.now();
    if (waits === this.#waitsForPerson) return; // those that ask for it read the rest
    this.#waitsForPerson = waits;
    this.#changed(this);
  }

  /**
   * Asks its owner; resolves with all answers.
   *
   * @param ttlMs how long it is kept from now on, and again once all are answered
   */
  ask(
    inputRequests: Mcp.InputRequests,
    ttlMs: number,
  ): Promise<Mcp.InputResponses> {
    const round = ++this.#rounds;
    const asked = Object.entries(inputRequests)
      .map(([name, request]) => [`${round}.${name}`, name, request] as const);
    const { promise, resolve } = Promise.withResolvers<
      Mcp.InputResponses
    >();
    this.#questions = {
      names: new Map(asked.map(([key, name]) => [key, name])),
      answers: {},
      ttlMs,
      answered: resolve,
    };
    const open = Object.fromEntries(asked.map(([key, , each]) => [key, each]));
    this.#askFor(open, ttlMs);
    return promise;
  }

  /**
   * Takes answers of its owner; those to questions that are not open count for nothing.
   *
   * @throws {ProtocolError} invalid params: an answer is invalid, and none of them counts
   */
  answer(responses: Readonly<Record<string, unknown>>): void {
    const state = this.#state;
    const questions = this.#questions;
    if (state.status !== "input_required" || !questions) return;
    const given = Object.entries(responses).flatMap(([key, response]) => {
      const name = questions.names.get(key);
      if (name === undefined || !Object.hasOwn(state.inputRequests, key)) {
        return [];
      }
      return [[key, name, readAnswer(key, response)] as const];
    });
    for (const [, name, answer] of given) questions.answers[name] = answer;
    const answered = new Set(given.map(([key]) => key));
    const open = Object.entries(state.inputRequests)
      .filter(([key]) => !answered.has(key));
    if (open.length > 0) {
      return this.#askFor(Object.fromEntries(open), questions.ttlMs);
    }
    this.#questions = undefined;
    this.#message = undefined;
    this.#waitsForPerson = false;
    this.#become({ status: "working" }, questions.ttlMs);
    questions.answered(questions.answers);
  }

  /** Ends it, unless it has ended: what comes first counts. */
  end(
    state: Extract<TaskState, { status: "completed" | "failed" | "cancelled" }>,
    message?: string,
  ): void {
    if (!this.isOpen) return;
    this.#message = message;
    this.#waitsForPerson = false;
    this.#become(state, KEPT_MS);
  }

  /** Replaces its result, which is not kept any more. */
  forgetResult(instead: Mcp.Result): void {
    if (this.#state.status === "completed") {
      this.#state = { status: "completed", result: instead };
    }
  }

  /** Cancels it and its call, unless it has ended. */
  cancel(why: string): void {
    if (!this.isOpen) return;
    this.end({ status: "cancelled" }, why);
    this.#cancel(why);
  }

  #askFor(inputRequests: Mcp.InputRequests, ttlMs: number): void {
    if (!this.isOpen) return;
    this.#message = "waits for input";
    this.#waitsForPerson = true;
    this.#become({ status: "input_required", inputRequests }, ttlMs);
  }

  #become(state: TaskState, ttlMs: number): void {
    this.#state = state;
    this.#updated = Date.now();
    this.#ttlMs = this.#updated - this.#created + ttlMs;
    this.#changed(this);
  }
}

function readAnswer(key: string, response: unknown): Mcp.InputResponse {
  try {
    const { action, content } = parseElicitResult(response);
    return { action, ...(content && { content }) };
  } catch (error) {
    throw invalidParams(`inputResponses.${key}: ${messageOf(error)}`);
  }
}
