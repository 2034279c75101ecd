/**
 * Requests of A2C-SMCP at the MCP endpoint of a Server, by which a command shares the seat that the Server
 * has taken for MCP clients (protocol §16).
 *
 * @module
 */
import { isClientEvent } from "./event_table.ts";
import {
  type ClientEvent,
  LIST_ROOM_EVENT,
  WATCH_RESOURCE_EVENT,
} from "./events.ts";

/** The revision of MCP that these requests are made in. */
export const SHARED_SEAT_MCP = "2026-07-28";

/** Begins the names of all methods of A2C-SMCP in MCP. */
export const OWN_METHODS = "a2c-smcp/";

/** Holds the seat for as long as its answer is read, a stream whose first message is {@linkcode SEAT_SHARED}. */
export const SHARE_SEAT = `${OWN_METHODS}share_seat`;

/** Notifies that the seat is held; names the most bytes of a message, `max_payload`. */
export const SEAT_SHARED = "notifications/a2c-smcp/seat_shared";

/** Sends an event of an Agent, with its `payload`; the result has the `answer`. */
export const SHARED_REQUEST = `${OWN_METHODS}request`;

/** Notifies of the progress of a tool call that was sent so. */
export const SHARED_PROGRESS = "notifications/a2c-smcp/progress";

/** Whether an event can be sent by a shared seat: one that is answered, and leaves nothing behind for the Agent. */
export const isShareable = (
  event: string,
): event is ClientEvent | typeof LIST_ROOM_EVENT =>
  event === LIST_ROOM_EVENT ||
  isClientEvent(event) && event !== WATCH_RESOURCE_EVENT;
