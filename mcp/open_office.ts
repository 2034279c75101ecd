import { checkNames } from "../shared/checks.ts";
import { RateQueue } from "../shared/async.ts";
import type { SmcpAgent } from "../agent/mod.ts";
import { HttpViews } from "./http/views.ts";
import { type AgentProvider, OfficeView } from "./office/office_view.ts";
import { createQuestionStates } from "./office/questions.ts";
import {
  serveOfficeStdio,
  type StdioConnection,
  type StdioStreams,
  STREAM_NAMES,
} from "./office/stdio.ts";
import {
  OFFICE_MCP_NAMES,
  type OfficeMcpOptions,
  resolveOptions,
} from "./options.ts";
import { TaskTable } from "./tasks/task_table.ts";
import { Watches } from "./resources/watches.ts";

/** An office as one MCP server, with all ways to it. */
export interface OpenOffice {
  /** Answers HTTP requests. */
  readonly http: HttpViews;
  /** Serves the client that has started this process. */
  serveStdio(streams?: StdioStreams): StdioConnection;
  /** Asks for the Agent again, and notifies clients if they see something else now. */
  refresh(): Promise<void>;
  /** Cancels all calls, and ends sessions and connections; the Agent stays as it is. */
  close(): Promise<void>;
}

/**
 * Makes an MCP server of the office that an Agent is in.
 *
 * @param tasks where calls become tasks
 * @throws {RangeError} naming a number that is out of its range
 * @throws {TypeError} naming what cannot be used
 */
export function openOffice(
  agent: SmcpAgent | AgentProvider,
  options: OfficeMcpOptions,
  tasks: TaskTable = new TaskTable(),
): OpenOffice {
  checkNames(options, OFFICE_MCP_NAMES, "officeMcp()");
  const resolved = resolveOptions(options);
  const provider = typeof agent === "function" ? agent : () => agent;
  const watches = new Watches();
  const view = new OfficeView(provider, resolved, watches);
  const parts = {
    view,
    queue: new RateQueue(resolved.callsPerSecond, resolved.maxCalls),
    states: createQuestionStates(),
    tasks,
    options: resolved,
  };
  const http = new HttpViews(parts);
  const connections = new Set<StdioConnection>();
  const close = async () => {
    tasks.close();
    const closing = [...connections].map((connection) => connection.close());
    await Promise.all([http.close(), ...closing]);
    view.close();
    watches.close();
  };
  return {
    http,
    serveStdio: (streams = {}) => {
      checkNames(streams, STREAM_NAMES, "serveStdio()");
      const connection = serveOfficeStdio(parts, streams);
      connections.add(connection);
      void connection.closed.then(() => connections.delete(connection));
      return connection;
    },
    refresh: () => http.refresh(),
    close,
  };
}
