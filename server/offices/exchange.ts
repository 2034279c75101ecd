import type {
  ClientEvent,
  ErrorPayload,
  Notification,
  ProtocolName,
  ToolCallProgress,
} from "../../protocol/mod.ts";
import type { Seat } from "../shared/member.ts";
import type { Payload } from "../wire/mod.ts";
import type { OfficeRegistry } from "./registry.ts";

/** Hears how a call to a Computer of another node goes on; one of the last two ends it. */
export interface RemoteCallEvents {
  /** The Computer told how far it is. */
  progress(told: ToolCallProgress): void;
  /** An answer that counts if nothing better arrives (spec §12). */
  provisional(answer: Payload | undefined): void;
  /** The Computer answered. */
  answered(answer: Payload | undefined): void;
  /** The call ended without an answer. */
  failed(error: ErrorPayload): void;
}

/** A call to a Computer of another node. */
export interface RemoteCall {
  /** The office. */
  readonly office: string;
  /** The name of the Computer. */
  readonly computer: string;
  /** Its connection, as far as the caller knows. */
  readonly socket: string;
  /** The connection of the Agent. */
  readonly from: string;
  /** The request. */
  readonly event: ClientEvent;
  /** Its payload, forwarded unchanged. */
  readonly payload: Payload;
  /** The `req_id` whose progress is wanted, if any is. */
  readonly reqId: string | undefined;
}

/** A notification for all members of an office. */
export interface Notice {
  /** The office. */
  readonly office: string;
  /** The notification. */
  readonly event: Notification;
  /** Its payload. */
  readonly payload: unknown;
  /** The connection that caused it. */
  readonly from: string;
  /** The connection that does not get it. */
  readonly except: string | undefined;
}

/** The other nodes, as the offices of one protocol version on this node see them. */
export interface Exchange {
  /** This node. */
  readonly node: string;
  /** The seats of all nodes. */
  readonly registry: OfficeRegistry;
  /** Returns whether this node may serve now: its members are not given away. */
  isServing(): boolean;
  /**
   * Brings a call to a Computer of another node.
   *
   * @param node the node of the Computer
   * @param events hear nothing before this returns
   * @returns a function that forgets the call, of which `events` then hears no more
   */
  call(
    node: string,
    call: RemoteCall,
    events: RemoteCallEvents,
  ): () => void;
  /** Sends a notification to the members of other nodes. */
  notify(notice: Notice): void;
  /** Tells the other nodes that a seat was taken. */
  entered(seat: Seat): void;
  /** Tells the other nodes that a seat was left; `from` names who caused it. */
  left(seat: Seat, from: string): void;
  /** Makes the node of a seat disconnect its former holder; `from` took it over. */
  evict(seat: Seat, from: string): void;
}

/** The offices of one protocol version on this node, as the other nodes see them. */
export interface Desk {
  /** Handles a call of another node's Agent; returns a function that forgets it. */
  serve(call: RemoteCall, events: RemoteCallEvents): () => void;
  /** Passes a notification on to the members here. */
  notify(notice: Notice): void;
  /** Another node's seat was taken. */
  entered(seat: Seat): void;
  /** Another node's seat was left. */
  left(seat: Seat): void;
  /** A seat of another node was freed, which could not say so; this node alone reports it. */
  lost(seat: Seat, reason: string): void;
  /** A member here has lost its seat to another connection. */
  evict(seat: Seat): void;
  /** The members with a connection here. */
  members(): Seat[];
  /** Compares all offices with the registry: notices may have been missed. */
  reload(): Promise<void>;
  /**
   * Tells the members here that whatever the Computers of a node have may have changed, since its
   * notices may have been missed.
   */
  refresh(node: string): void;
  /** Closes all connections, so that their clients come back elsewhere, and forgets the members. */
  fence(reason: string): void;
}

/** What connects the offices of a server with those of other nodes. */
export interface ClusterOffices {
  /** Connects the offices of one protocol version; called once for each. */
  exchange(protocol: ProtocolName, desk: Desk): Exchange;
}
