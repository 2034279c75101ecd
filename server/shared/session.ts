import type { Socket } from "socket.io";
import type {
  ErrorPayload,
  Role,
  ToolCallProgress,
} from "../../protocol/mod.ts";
import type { Deadline } from "./deadlines.ts";
import type { Identity } from "./identity.ts";
import type { TokenBucket } from "./token_bucket.ts";
import type { Seat } from "./member.ts";

/** A pending call from an Agent to a Computer; it belongs to the sessions of both. */
export interface PendingCall extends Deadline {
  /** Who asked for its progress, if anybody did. */
  readonly follower: Follower | undefined;
  /** Ends it with an error for the Agent, or without one when the Agent is gone. */
  end(error: ErrorPayload | undefined): void;
}

/** An Agent that asked how far its call is. */
export interface Follower {
  /** The `req_id` of the call. */
  readonly reqId: string;
  /** Tells it, unless it has another name or office by now. */
  tell(told: ToolCallProgress): void;
}

/** The state of one connection to the namespace. */
export interface Session {
  /** The connection. */
  readonly socket: Socket;
  /** The `a2c_version` of the request that opened it; the server's own where none is asked for. */
  readonly version: string;
  /** `auth.instance_id`, never revealed to other clients (spec §9). */
  readonly instance: string | undefined;
  /** Its authenticated identity; absent without authentication. Replaced by rechecks. */
  identity: Identity | undefined;
  /** The client's network address. */
  readonly address: string;
  /** `auth.role`, or fixed by the first join. */
  role: Role | undefined;
  /** Its seat, while it is in an office. */
  member: Seat | undefined;
  /** Limits the rate of its events. */
  readonly events: TokenBucket;
  /** The pending calls that it sent or has to answer. */
  readonly calls: PendingCall[];
  /** Runs tasks in the order of arrival; resolves when the task has ended, `undefined` when it has. */
  enqueue(task: () => void | Promise<void>): Promise<void> | undefined;
}
