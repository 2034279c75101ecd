import { describeFailure, onStatusChange, serverLabel } from "../report.ts";
import { callLog } from "./call_log.ts";
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

/** Collects all that the page of a Computer shows. */
export function pageState({ computer, desk, addresses, changes }: PageSources) {
  const calls = callLog(changes);
  let last = changes.next();
  /** Notes that something else about the Computer changed than its calls. */
  const changed = () => last = changes.next();
  const offs = [
    ...onStatusChange(computer, changed),
    computer.on("callStarted", calls.began),
    computer.on("callProgress", calls.advanced),
    computer.on("callWaiting", calls.waits),
    computer.on("callEnded", calls.ended),
  ];
  return {
    calls,
    changed,
    /** Returns the changes since: of the Computer as a whole, of calls and of questions, oldest first. */
    since: (version: number) => ({
      ...(last > version && { computer: viewOf(computer, addresses) }),
      calls: calls.since(version),
      /** The key of the oldest call that is listed; older ones are forgotten. */
      firstCall: calls.first(),
      questions: desk.since(version),
    }),
    /** Stops listening to the Computer. */
    close: () => offs.forEach((off) => off()),
  };
}

/** The changes that a page receives. */
export type PageNews = ReturnType<ReturnType<typeof pageState>["since"]>;

/** A Computer as the page shows it. */
export type ComputerView = ReturnType<typeof viewOf>;

function viewOf(computer: SmcpComputer, addresses: PageSources["addresses"]) {
  const { servers, tools, runningCalls: _, ...status } = computer.status();
  const described = new Map(
    computer.listTools().map((tool) => [tool.name, tool.description]),
  );
  return {
    ...status,
    url: hideSecrets(computer.url),
    servers: servers.map((server) =>
      serverItem(server, addresses.get(server.name))
    ),
    tools: tools.map(({ name, server, bundleId = server }) => ({
      name,
      bundleId,
      description: (described.get(name) ?? "").slice(0, MAX_DESCRIPTION_CHARS),
    })),
  };
}

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
