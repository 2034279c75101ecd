import type { Connection } from "../../client/connection.ts";
import type { Emitter } from "../../client/emitter.ts";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  ErrorCode,
  isClientEvent,
  LEAVE_OFFICE_NOTIFICATION,
  operatorOf,
  PROFILES,
  ProtocolError,
  type ProtocolName,
  type ServerEvent,
  UPDATE_RESOURCES_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../protocol/mod.ts";
import type { Announcer } from "./announcer.ts";
import type { ComputerRequestHandler } from "./request_handler.ts";
import type { McpHost } from "../host/host.ts";
import type { ComputerEvents } from "./computer_events.ts";

/** Where the events of a connection are forwarded to. */
export interface ForwardTargets {
  /** The Computer's listeners. */
  readonly events: Emitter<ComputerEvents>;
  /** Announces changes to the office. */
  readonly announcer: Announcer;
  /** Answers requests of the office. */
  readonly requests: ComputerRequestHandler;
  /** The MCP servers, which the office names as its version does. */
  readonly host: Pick<McpHost, "useBundleIds">;
  /** Whether operators of the Server get no answers. */
  readonly refuseOperators: boolean;
}

/** Names servers and tools as a version of the protocol does (0.4 §3). */
export const useNames = (
  host: ForwardTargets["host"],
  protocol: ProtocolName,
): void => host.useBundleIds(PROFILES[protocol].bundleIds);

/** Forwards events and requests of the Server. */
export function forwardConnectionEvents(
  connection: Connection,
  { events, announcer, requests, host, refuseOperators }: ForwardTargets,
): void {
  connection.on("connected", (connected) => {
    useNames(host, connection.protocol);
    events.emit("connected", connected);
  });
  connection.on("disconnected", (lost) => {
    requests.disconnected();
    events.emit("disconnected", lost);
  });
  connection.on("rejoinFailed", forward("rejoinFailed", events));
  connection.on("refused", forward("refused", events));
  connection.on("joined", (joined) => {
    requests.moveTo(joined.office);
    // Announcements made while disconnected were lost.
    if (joined.rejoined) announcer.all();
    else announcer.joined();
    events.emit("joined", joined);
  });
  connection.on("notification", ({ event, payload }) => {
    if (event === CANCEL_TOOL_CALL_NOTIFICATION) requests.cancel(payload);
    if (event === LEAVE_OFFICE_NOTIFICATION && payload.agent !== undefined) {
      requests.agentLeft(payload.agent);
    }
  });
  connection.onRequest((event, payload) => {
    // The request arrived after leaving; the Server has already answered its Agent with an error.
    if (isClientEvent(event) && !connection.joined) {
      throw new ProtocolError(
        ErrorCode.NOT_IN_ROOM,
        "This Computer is in no office",
      );
    }
    if (refuseOperators && operatorOf(Object(payload)) !== undefined) {
      throw new ProtocolError(
        ErrorCode.FORBIDDEN,
        "The owner of this Computer refuses operators (--refuse-operators)",
      );
    }
    return requests.answer(event, payload);
  });
}

/**
 * Forwards events of the MCP servers.
 *
 * @param changed announces an event to the office
 * @param configChanged is called when servers were added, replaced or removed
 */
export function forwardHostEvents(
  host: McpHost,
  events: Emitter<ComputerEvents>,
  changed: (event: ServerEvent) => void,
  configChanged: () => void,
): void {
  host.on("serverState", forward("serverState", events));
  host.on("toolsChanged", () => {
    changed(UPDATE_TOOL_LIST_EVENT);
    events.emit("toolsChanged", undefined);
  });
  host.on("configChanged", configChanged);
  host.on("resourcesChanged", () => changed(UPDATE_RESOURCES_EVENT));
  host.on("promptsChanged", () => changed(UPDATE_RESOURCES_EVENT));
}

const forward =
  <E extends keyof ComputerEvents>(event: E, events: Emitter<ComputerEvents>) =>
  (value: ComputerEvents[E]): void => events.emit(event, value);
