import type { Socket } from "socket.io";
import type {
  ClientEvent,
  ErrorPayload,
  Role,
  ToolCallProgress,
  Waiting,
} from "../../protocol/mod.ts";
import type { CallEnd } from "./call_end.ts";
import type { Deadline } from "./deadlines.ts";
import type { Identity } from "./identity.ts";
import type { TokenBucket } from "./token_bucket.ts";
import type { Seat } from "./member.ts";

/** A pending call from an Agent to a Computer; it belongs to the sessions of both. */
export interface PendingCall extends Deadline {
  /** Receives the progress of a tool call. */
  readonly follower: Follower | undefined;
  /** The request. */
  readonly event: ClientEvent;
  /** Its `req_id`; absent on the Computer's side in a cluster, where the Agent's node knows it. */
  readonly reqId: string | undefined;
  /** The tool, of a tool call. */
  readonly tool: string | undefined;
  /** The name of the Computer. */
  readonly computer: string;
  /** When it began, in milliseconds of a monotonic clock. */
  readonly began: number;
  /** The person that it waits for. */
  waiting?: Waiting | undefined;
  /** How it ends without a real answer: its Agent has cancelled it. */
  stopped?: CallEnd;
  /**
   * Ends it with an error for the Agent, or without one when the Agent is gone.
   *
   * @param how default: as the error says
   */
  end(error: ErrorPayload | undefined, how?: CallEnd): void;
}

/** Where the progress of a call goes. */
export interface Follower {
  /** The `req_id` of the call. */
  readonly reqId: string;
  /** Takes a report; the Agent gets what it asked for, unless it has another name or office by now. */
  tell(told: ToolCallProgress): void;
}

/** What operators are shown of a session. */
export interface SessionRecord {
  /** When it took its seat, in milliseconds since 1970; 0 before. */
  joinedAt: number;
  /** The calls that it has sent or got. */
  calls: number;
  /** The last error that its calls ended with. */
  lastError: SessionError | undefined;
}

/** An error that a call ended with. */
export interface SessionError extends CallEnd {
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** A message for people, if there was one. */
  readonly message?: string;
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
  /** What operators are shown of it. */
  readonly record: SessionRecord;
  /** Runs tasks in the order of arrival; resolves when the task has ended, `undefined` when it has. */
  enqueue(task: () => void | Promise<void>): Promise<void> | undefined;
}
