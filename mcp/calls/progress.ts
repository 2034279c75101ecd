import type { ProgressNotificationParams } from "@modelcontextprotocol/server";
import { type ToolProgress, waitingText } from "../../protocol/mod.ts";

/** What is said of a running call. */
export type Progress = Omit<
  ProgressNotificationParams,
  "progressToken" | "_meta"
>;

/** What a reporter tells, and how often. */
export interface ReporterOptions {
  /** Where the call runs. */
  readonly computer: string;
  /** Milliseconds between two signs of life. */
  readonly everyMs: number;
  /** Sends it to the client. */
  readonly send: (progress: Progress) => void;
}

/** So little that it is less than any step of a tool that counts. */
const BEAT = 1e-6;

/**
 * Tells a client that its call still runs, and how far it has come where that is known.
 *
 * Progress must only ever increase (MCP): a sign of life adds next to nothing, so that the numbers of
 * the tool stay as they are; those that do not increase are left out.
 */
export class ProgressReporter {
  readonly #options: ReporterOptions;
  readonly #began = performance.now();
  #timer: ReturnType<typeof setInterval>;
  #last: number | undefined;
  #waiting: ToolProgress["waiting"];

  /** Begins to tell; {@linkcode end} must follow. */
  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#timer = this.#beating();
  }

  /** Passes on what the tool itself reports, and that it waits for a person. */
  report({ waiting, ...progress }: ToolProgress): void {
    if (waiting !== undefined) {
      this.#waiting = waiting;
      this.#beat();
    } else if (progress.progress > (this.#last ?? -Infinity)) {
      this.#last = progress.progress;
      this.#options.send(progress);
    } else return;
    clearInterval(this.#timer);
    this.#timer = this.#beating();
  }

  /** Tells nothing more. */
  end(): void {
    clearInterval(this.#timer);
  }

  #beating(): ReturnType<typeof setInterval> {
    return setInterval(() => this.#beat(), this.#options.everyMs);
  }

  #beat(): void {
    const { computer, send } = this.#options;
    this.#last = justAbove(this.#last ?? 0);
    const passed = Math.round((performance.now() - this.#began) / 1000);
    const message = this.#waiting
      ? `${waitingText(this.#waiting, computer)}, ${passed} s`
      : `running for ${passed} s on ${computer}`;
    send({ progress: this.#last, message });
  }
}

const justAbove = (value: number): number =>
  value + Math.max(BEAT, Math.abs(value) * 2 ** -50);
