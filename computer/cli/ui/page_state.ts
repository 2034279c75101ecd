import { failureOf, labelOf, onStatusChange } from "../report.ts";
import { CallLog } from "./call_log.ts";
import type { Changes } from "./news_feed.ts";
import type { QuestionDesk } from "./question_desk.ts";
import type { SmcpComputer } from "../../computer.ts";
import { describeState, type ServerStatus } from "../../host/server_status.ts";
import { hideSecrets } from "../../util/secrets.ts";

/** The longest description of a tool in the list. */
const MAX_DESCRIPTION_CHARS = 1_000;

/** What the page of a Computer is made of. */
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
    const calls = new CallLog(changes);
    this.#sources = sources;
    this.desk = desk;
    this.calls = calls;
    this.#changed = changes.next();
    this.#offs = [
      ...onStatusChange(computer, () => this.changed()),
      computer.on("callStarted", (call) => calls.began(call)),
      computer.on("callProgress", (call) => calls.advanced(call)),
      computer.on("callWaiting", (call) => calls.waits(call)),
      computer.on("callEnded", (call) => calls.ended(call)),
    ];
  }

  /** Notes that something else about the Computer changed than its calls. */
  changed(): void {
    this.#changed = this.#sources.changes.next();
  }

  /** Returns the changes since: of the Computer as a whole, of calls and of questions, oldest first. */
  since(version: number) {
    const { computer, addresses } = this.#sources;
    return {
      ...(this.#changed > version &&
        { computer: viewOf(computer, addresses) }),
      calls: this.calls.since(version),
      /** The key of the oldest call that is listed; older ones are forgotten. */
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

/** The changes that a page receives. */
export type PageNews = ReturnType<PageState["since"]>;

/** A Computer as the page shows it. */
export type ComputerView = ReturnType<typeof viewOf>;

function viewOf(
  computer: SmcpComputer,
  addresses: PageSources["addresses"],
) {
  const { servers, tools, office, ...status } = computer.status();
  const { name, connection, protocol, skills, problems } = status;
  const described = new Map(
    computer.listTools().map((tool) => [tool.name, tool.description]),
  );
  return {
    name,
    url: hideSecrets(computer.url),
    connection,
    protocol,
    ...(office !== undefined && { office }),
    servers: servers.map((server) =>
      serverItem(server, addresses.get(server.name))
    ),
    tools: tools.map(({ name, server, bundleId = server }) => ({
      name,
      bundleId,
      description: (described.get(name) ?? "").slice(0, MAX_DESCRIPTION_CHARS),
    })),
    skills,
    problems,
  };
}

/** @param address where a person authorizes the Computer for it, shown while it does not run */
function serverItem(status: ServerStatus, address: string | undefined) {
  const { bundleId, type, state, tools, restarts, problems } = status;
  return {
    bundleId,
    label: labelOf(status),
    type,
    state,
    does: describeState(status), // with the time of the next attempt
    tools,
    restarts,
    problems: [...failureOf(status), ...problems].map(hideSecrets),
    ...(address !== undefined && state !== "running" &&
      { authorizeAt: address }),
  };
}
