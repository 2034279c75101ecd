import { describeFailure, onStatusChange, serverLabel } from "../report.ts";
import { CallLog } from "./call_log.ts";
import type { Changes } from "./change_feed.ts";
import { permissionText } from "../question_text.ts";
import type { Permission } from "../../rules/permissions.ts";
import type { PageQuestions } from "./page_questions.ts";
import type { SmcpComputer } from "../../computer.ts";
import { describeState, type ServerStatus } from "../../host/server_status.ts";
import { hideSecrets } from "../../util/secrets.ts";
import { plain } from "../../../cli/terminal_text.ts";

/** The longest description of a tool in the list. */
const MAX_DESCRIPTION_CHARS = 1_000;

/** The sources of the page of a Computer. */
export interface PageSources {
  readonly computer: SmcpComputer;
  readonly questions: PageQuestions;
  /** Where a person authorizes the Computer, by the names of MCP servers. */
  readonly addresses: ReadonlyMap<string, string>;
  readonly changes: Changes;
}

/** The changes that a page receives. */
export type PageNews = ReturnType<PageState["since"]>;

/** A Computer as the page shows it. */
export type ComputerView = ReturnType<typeof computerView>;

/** All that the page of a Computer shows. */
export class PageState {
  /** The latest calls. */
  readonly calls: CallLog;
  readonly #sources: PageSources;
  readonly #stops: readonly (() => void)[];
  /** The number of the last change of the Computer as a whole. */
  #last: number;

  constructor(sources: PageSources) {
    const { computer, changes } = sources;
    const calls = new CallLog(changes);
    this.calls = calls;
    this.#sources = sources;
    this.#last = changes.next();
    this.#stops = [
      ...onStatusChange(computer, () => this.changed()),
      computer.on("callStarted", (call) => calls.began(call)),
      computer.on("callProgress", (call) => calls.advanced(call)),
      computer.on("callWaiting", (call) => calls.waits(call)),
      computer.on("callEnded", (call) => calls.ended(call)),
    ];
  }

  /** Counts a change of the Computer other than its calls. */
  changed(): void {
    this.#last = this.#sources.changes.next();
  }

  /** Returns the changes since: of the Computer as a whole, of calls and of questions, oldest first. */
  since(version: number) {
    const { computer, addresses, questions } = this.#sources;
    return {
      ...(this.#last > version &&
        { computer: computerView(computer, addresses) }),
      calls: this.calls.since(version),
      /** The key of the oldest call that is listed; older ones are forgotten. */
      firstCall: this.calls.first,
      questions: questions.since(version),
    };
  }

  /** Stops listening to the Computer. */
  close(): void {
    this.#stops.forEach((stop) => stop());
  }
}

function computerView(
  computer: SmcpComputer,
  addresses: PageSources["addresses"],
) {
  const { servers, tools, runningCalls: _, ...status } = computer.status();
  const descriptions = new Map(
    computer.listTools().map((tool) => [tool.name, tool.description]),
  );
  return {
    ...status,
    url: hideSecrets(computer.url),
    /** What was allowed beyond the rules. */
    permissions: computer.permissions.list().map(permissionItem),
    servers: servers.map((server) =>
      serverItem(server, addresses.get(server.name))
    ),
    tools: tools.map(({ name, server, bundleId = server }) => ({
      name,
      bundleId,
      description: (descriptions.get(name) ?? "")
        .slice(0, MAX_DESCRIPTION_CHARS),
    })),
  };
}

const permissionItem = (permission: Permission) => {
  const { id, usesLeft, untilMs } = permission;
  return {
    id,
    covers: plain(permissionText(permission)),
    ...(usesLeft !== undefined && { usesLeft }),
    ...(untilMs !== undefined && { untilMs }),
  };
};

/** @param address where a person authorizes the Computer for it, while that is awaited */
function serverItem(status: ServerStatus, address: string | undefined) {
  const { bundleId, type, state, tools, restarts, problems } = status;
  return {
    bundleId,
    label: serverLabel(status),
    type,
    state,
    does: describeState(status), // with the time of the next attempt
    tools,
    restarts,
    problems: [...describeFailure(status), ...problems].map(hideSecrets),
    ...(address !== undefined && { authorizeAt: address }),
  };
}
