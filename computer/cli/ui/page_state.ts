import { labelOf, onStatusChange, withRemedy } from "../report.ts";
import { CallLog, type ListedCall } from "./call_log.ts";
import type { Changes } from "./news_feed.ts";
import type { PageQuestion, QuestionDesk } from "./question_desk.ts";
import type { SmcpComputer } from "../../computer.ts";
import {
  describeState,
  type ServerState,
  type ServerStatus,
} from "../../host/server_status.ts";
import { hideSecrets } from "../../util/secrets.ts";

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

/** The longest description of a tool in the list. */
const MAX_DESCRIPTION_CHARS = 1_000;

/** An MCP server as the page shows it. */
export interface ServerItem {
  /** Identifies it. */
  readonly bundleId: string;
  /** Its name, with what identifies it where that is something else. */
  readonly label: string;
  readonly type: ServerStatus["type"];
  readonly state: ServerState;
  /** The state as a sentence, with the time of the next attempt. */
  readonly does: string;
  /** The number of its tools. */
  readonly tools: number;
  readonly restarts: number;
  /** What is wrong, each with its remedy. */
  readonly problems: readonly string[];
  /** Where a person authorizes the Computer for it, while it does not run. */
  readonly authorizeAt?: string;
}

/** A tool as the page shows it. */
export interface ToolItem {
  /** The name by which Agents call it. */
  readonly name: string;
  /** What identifies its MCP server. */
  readonly bundleId: string;
  readonly description: string;
}

/** A Computer as the page shows it. */
export interface ComputerView {
  readonly name: string;
  /** Address of the Server. */
  readonly url: string;
  readonly connection: string;
  readonly protocol: string;
  /** The office that it is in, or comes back to. */
  readonly office?: string;
  readonly servers: readonly ServerItem[];
  readonly tools: readonly ToolItem[];
  /** Names of the skills. */
  readonly skills: readonly string[];
  /** What is wrong with the configuration as a whole. */
  readonly problems: readonly string[];
}

/**
 * Describes a Computer: connection, office, MCP servers, tools and problems.
 *
 * @param addresses where a person authorizes it, by the names of MCP servers
 */
export function viewOf(
  computer: SmcpComputer,
  addresses: ReadonlyMap<string, string>,
): ComputerView {
  const {
    name,
    connection,
    protocol,
    office,
    servers,
    tools,
    skills,
    ...rest
  } = computer.status();
  const described = new Map(
    computer.listTools().map((tool) => [tool.name, tool.description]),
  );
  return {
    name,
    url: hideSecrets(computer.url),
    connection,
    protocol,
    ...(office !== undefined && { office }),
    servers: servers.map((status) =>
      serverItem(status, addresses.get(status.name))
    ),
    tools: tools.map(({ name, server, bundleId = server }) => ({
      name,
      bundleId,
      description: (described.get(name) ?? "").slice(0, MAX_DESCRIPTION_CHARS),
    })),
    skills,
    problems: rest.problems,
  };
}

function serverItem(
  status: ServerStatus,
  address: string | undefined,
): ServerItem {
  const { bundleId, type, state, tools, restarts, error, failure } = status;
  return {
    bundleId,
    label: labelOf(status),
    type,
    state,
    does: describeState(status),
    tools,
    restarts,
    problems: [
      ...error === undefined || state === "running"
        ? []
        : [withRemedy(error, failure)],
      ...status.problems,
    ].map(hideSecrets),
    ...(address !== undefined && state !== "running" &&
      { authorizeAt: address }),
  };
}
