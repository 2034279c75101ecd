import type { Socket } from "socket.io";
import type { ErrorPayload, Role } from "../../protocol/mod.ts";
import type { Deadline } from "./deadlines.ts";
import type { Identity } from "./identity.ts";
import type { TokenBucket } from "./token_bucket.ts";
import type { Member } from "./member.ts";

/** A call on its way between an Agent and a Computer; it belongs to the sessions of both. */
export interface PendingCall extends Deadline {
  /** Ends it with an error for the Agent, or with silence when the Agent is gone. */
  end(error: ErrorPayload | undefined): void;
}

/** What the server knows about one connection of the namespace. */
export interface Session {
  /** The connection. */
  readonly socket: Socket;
  /** The `a2c_version` of the request that opened it; the server's own where none is asked for. */
  readonly version: string;
  /** `auth.instance_id`, never shown to anybody (spec §9). */
  readonly instance: string | undefined;
  /** Who it is authenticated as; absent without authentication. Replaced when keys are read again. */
  identity: Identity | undefined;
  /** The client's network address. */
  readonly address: string;
  /** `auth.role`, or fixed by the first join. */
  role: Role | undefined;
  /** Its seat, while it is in an office. */
  member: Member | undefined;
  /** How many events it may send. */
  readonly events: TokenBucket;
  /** The calls that it sent or has to answer. */
  readonly calls: PendingCall[];
  /** Runs tasks in the order of arrival; resolves when the task has ended, `undefined` when it has. */
  enqueue(task: () => void | Promise<void>): Promise<void> | undefined;
}
