import type { CallQueue } from "../calls/call_queue.ts";
import type { QuestionStates } from "../calls/questions.ts";
import type { ResolvedOptions } from "../options.ts";
import type { OfficeView } from "./office_view.ts";

/** What all MCP servers of an office share. */
export interface ServerParts {
  /** The Agent and its tools. */
  readonly view: OfficeView;
  /** The turns of calls. */
  readonly queue: CallQueue;
  /** Seals what questions to clients remember. */
  readonly states: QuestionStates;
  /** How the office is shown. */
  readonly options: ResolvedOptions;
}
