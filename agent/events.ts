/**
 * The events of an Agent: notifications of its office under their names in camelCase, those of its
 * connection, and those of the tool catalogue, which the same notifications keep up to date. Below:
 * following a desktop by these events, and the log.
 *
 * @module
 */
import type { Logger } from "@logtape/logtape";
import { OfficePath } from "./office_path.ts";
import { DESKTOP_NAMES, type GetDesktopOptions } from "./options.ts";
import * as queries from "./queries.ts";
import { isComputerNotFound, Requests } from "./requests.ts";
import { catalogueStep, ToolCatalogue } from "./tools.ts";
import { warningsOf } from "../client/check_options.ts";
import type { Connection } from "../client/connection.ts";
import type { Emitter } from "../client/emitter.ts";
import { ConnectionError } from "../client/errors.ts";
import type { ConnectionEvents, ConnectionOptions } from "../client/options.ts";
import {
  type Desktop,
  type EnterOfficeNotification,
  GET_TOOLS_EVENT,
  type LeaveOfficeNotification,
  type Notification,
  type Notifications,
  type SMCPTool,
  type ToolCallProgress,
  type UpdateResources,
} from "../protocol/mod.ts";
import { onAbort } from "../shared/async.ts";
import { checkNames } from "../shared/checks.ts";

/**
 * Events of an Agent, with their values: the notifications of its office, those of the connection,
 * and those about tools.
 *
 * The event of a notification is its name on the wire without `notify:`, in camelCase
 * (`notify:update_tool_list` is `updateToolList`), with the payload of the wire. Notifications
 * arrive in the order in which the Server sent them (protocol §3).
 */
export interface AgentEvents extends ConnectionEvents {
  /** A member joined the office: `notify:enter_office`. */
  enterOffice: EnterOfficeNotification;
  /** A member left the office: `notify:leave_office`. */
  leaveOffice: LeaveOfficeNotification;
  /** A Computer's configuration changed: `notify:update_config`. */
  updateConfig: { computer: string };
  /** A Computer's tools changed, and are not fetched yet: `notify:update_tool_list`. */
  updateToolList: { computer: string };
  /** A Computer's desktop changed: `notify:update_desktop`. */
  updateDesktop: { computer: string };
  /** A Computer's documents changed: `notify:update_finder`. */
  updateFinder: { computer: string };
  /**
   * A watched resource of a Computer has new contents, or without `uri` its resources or prompts are
   * others: `notify:update_resources`.
   */
  updateResources: UpdateResources;
  /** A Computer's skills changed: `notify:update_skills`. */
  updateSkills: { computer: string };
  /** A tool call was cancelled: `notify:tool_call_cancel`. */
  toolCallCancel: { agent: string; req_id: string };
  /** A call that asked for its progress has come further: `notify:tool_call_progress`. */
  toolCallProgress: ToolCallProgress;
  /** The tools of a Computer were fetched; `undefined` if it left (protocol §9). */
  tools: { computer: string; tools: readonly SMCPTool[] | undefined };
  /** The tools of a Computer could not be fetched; those known before stay. */
  toolsFailed: { computer: string; error: unknown };
}

/** Turns `snake_case` into `camelCase`. */
type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

/** The Agent's event of a notification: its name after the prefix. */
type AgentEventOf<N extends Notification> = N extends `${string}:${infer Name}`
  ? CamelCase<Name>
  : never;

/** Returns the name of the Agent's event of a notification. */
export const agentEventOf = <N extends Notification>(
  notification: N,
): AgentEventOf<N> =>
  notification.replaceAll(
    /^\w+:|_(.)/g,
    (_, letter?: string) => letter?.toUpperCase() ?? "",
  ) as AgentEventOf<N>;

/**
 * Forwards the events of an Agent's office, and keeps its tools up to date (protocol §9).
 *
 * @param name the Agent's own name
 * @param agent by which the path of its office is found
 */
export function forwardOfficeEvents(
  connection: Connection,
  name: string,
  events: Emitter<AgentEvents>,
  agent: object,
): ToolCatalogue {
  // Without `offline: "wait"`: after a reconnect everything is fetched again anyway.
  const requests = new Requests(connection, { name });
  const path = new OfficePath(agent, () => {
    if (connection.joined) catalogue.refresh();
  });
  const catalogue = new ToolCatalogue({
    list: async () =>
      (await queries.members(requests, connection.office))
        .filter(({ role }) => role === "computer")
        .map(({ name }) => name),
    fetch: async (computer) => {
      const request = { computer, ...path.asked };
      return path.take(await requests.ask(GET_TOOLS_EVENT, request));
    },
    changed: (computer, tools) => events.emit("tools", { computer, tools }),
    failed: (computer, error) =>
      events.emit("toolsFailed", { computer, error }),
  });
  const notify = <N extends Notification>({ event, payload }: {
    event: N;
    payload: Notifications[N] & AgentEvents[AgentEventOf<N>];
  }) => events.emit(agentEventOf(event), payload);
  connection.on("notification", (notification) => {
    catalogue.apply(catalogueStep(notification));
    notify(notification);
  });
  connection.on("joined", (joined) => {
    catalogue.refresh();
    events.emit("joined", joined);
  });
  connection.on("disconnected", (lost) => {
    if (!lost.reconnecting) catalogue.clear();
    events.emit("disconnected", lost);
  });
  connection.on("connected", (to) => events.emit("connected", to));
  connection.on("rejoinFailed", (why) => events.emit("rejoinFailed", why));
  connection.on("refused", (error) => events.emit("refused", error));
  return catalogue;
}

/**
 * Yields the desktop now, and again after each change (protocol §9).
 *
 * Changes that arrive while the consumer is busy are coalesced into one.
 */
export async function* followDesktop(
  computer: string,
  source: {
    readonly fetch: () => Promise<Desktop[]>;
    readonly on: Emitter<AgentEvents>["on"];
  },
  options: GetDesktopOptions,
): AsyncGenerator<Desktop[], void, void> {
  checkNames(options, DESKTOP_NAMES, "followDesktop()");
  const { signal } = options;
  let change = Promise.withResolvers<void>();
  const onNotification = (payload: { computer?: string }) => {
    if (payload.computer === computer) change.resolve();
  };
  let over: { reason: unknown } | undefined;
  const fail = (reason: unknown) => {
    over ??= { reason };
    change.resolve();
  };
  const offs = [
    source.on("updateDesktop", onNotification),
    source.on("enterOffice", onNotification), // its windows may have changed
    source.on("joined", () => change.resolve()),
    source.on("disconnected", ({ reason, reconnecting }) => {
      if (!reconnecting) fail(new ConnectionError("closed", reason));
    }),
    onAbort(signal, () => fail(signal?.reason)),
  ];
  try {
    signal?.throwIfAborted();
    let wasThere = false;
    while (true) {
      const desktop = await source.fetch().catch((error) => {
        if (!wasThere || !mayComeBack(error)) throw error;
      });
      wasThere = true;
      if (desktop) yield desktop;
      await change.promise;
      if (over) throw over.reason;
      change = Promise.withResolvers();
    }
  } finally {
    offs.forEach((off) => off());
  }
}

/** Checks whether only the Computer or the connection is away; an event follows when it is back. */
const mayComeBack = (error: unknown): boolean =>
  isComputerNotFound(error) ||
  error instanceof ConnectionError &&
    (error.code === "lost" || error.code === "offline");

/**
 * Where LogTape keeps its root logger, so that all its copies in a program are one. A program without
 * LogTape has no sink for a record either, and need not bundle it for an Agent, of which it would be
 * an eighth.
 */
const ROOT_LOGGER = Symbol.for("logtape.rootLogger");

function log(): Logger | undefined {
  const root: Logger | undefined = Reflect.get(globalThis, ROOT_LOGGER);
  return root?.getChild(["a2c-smcp", "agent"]);
}

/** Logs what listeners and handlers throw, which must not reach other code. */
export const logThrown = (error: unknown): void =>
  log()?.error("{error}", { error });

/** Warns of what the user of a client should know before it connects. */
export function warnOf(options: ConnectionOptions): void {
  for (const warning of warningsOf(options)) {
    log()?.warn("{warning}", { warning });
  }
}
