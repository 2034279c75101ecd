import type { Server } from "@modelcontextprotocol/server";
import type { OfficeView } from "./office_view.ts";
import type { QuestionStates } from "./questions.ts";
import type { TaskTable } from "../tasks/task_table.ts";
import type { ResolvedOptions } from "../options.ts";
import type { RateQueue } from "../../shared/async.ts";

/** Makes a server answer some kind of requests. */
export type Answers = (server: Server, parts: ServerParts) => void;

/** What MCP servers of an office share. */
export interface ServerParts {
  /** The Agent and its tools. */
  readonly view: OfficeView;
  /** The turns of all requests of the seat. */
  readonly queue: RateQueue;
  /** Seals the state of questions to clients. */
  readonly states: QuestionStates;
  /** Calls that run on behind the answer of their request. */
  readonly tasks: TaskTable;
  /** How the office is shown. */
  readonly options: ResolvedOptions;
  /** Gives the signal that cancels whatever one server does now; absent where the requests' own do. */
  readonly cancelled?: () => AbortSignal;
}
