import type { SmcpComputer } from "../../computer.ts";
import { onStatusChange } from "../live/status_changes.ts";
import { CallLog, type ListedCall } from "./call_log.ts";
import type { Changes } from "./changes.ts";
import { type ComputerView, viewOf } from "./computer_view.ts";
import type { PageQuestion } from "./page_question.ts";
import type { QuestionDesk } from "./question_desk.ts";

/** What a page does not know yet. */
export interface PageNews {
  /** The Computer, if anything about it changed. */
  readonly computer?: ComputerView;
  /** Calls that began, went on or ended, oldest first. */
  readonly calls: readonly ListedCall[];
  /** The key of the oldest call that is listed; older ones are forgotten. */
  readonly firstCall: number;
  /** Questions that were asked or ended, oldest first. */
  readonly questions: readonly PageQuestion[];
}

/** What {@linkcode PageState} needs. */
export interface PageSources {
  readonly computer: SmcpComputer;
  readonly desk: QuestionDesk;
  /** Where a person authorizes the Computer, by the names of MCP servers. */
  readonly addresses: ReadonlyMap<string, string>;
  readonly changes: Changes;
}

/** All that the page of a Computer shows. */
export class PageState {
  /** The calls. */
  readonly calls: CallLog;
  /** The questions. */
  readonly desk: QuestionDesk;
  readonly #sources: PageSources;
  readonly #offs: readonly (() => void)[];
  #changed: number;

  constructor(sources: PageSources) {
    const { computer, desk, changes } = sources;
    this.#sources = sources;
    this.desk = desk;
    this.calls = new CallLog(changes);
    this.#changed = changes.next();
    this.#offs = [
      ...onStatusChange(computer, () => this.changed()),
      computer.on("callStarted", (call) => this.calls.began(call)),
      computer.on("callProgress", (call) => this.calls.advanced(call)),
      computer.on("callWaiting", (call) => this.calls.waits(call)),
      computer.on("callEnded", (call) => this.calls.ended(call)),
    ];
  }

  /** Notes that something else about the Computer changed than its calls. */
  changed(): void {
    this.#changed = this.#sources.changes.next();
  }

  /** Tells what changed since. */
  since(version: number): PageNews {
    const { computer, addresses } = this.#sources;
    return {
      ...(this.#changed > version &&
        { computer: viewOf(computer, addresses) }),
      calls: this.calls.since(version),
      firstCall: this.calls.first,
      questions: this.desk.since(version),
    };
  }

  /** Lists the tools with their schemas. */
  tools(): ReturnType<SmcpComputer["listTools"]> {
    return this.#sources.computer.listTools();
  }

  /** Stops listening to the Computer. */
  close(): void {
    for (const off of this.#offs) off();
  }
}
