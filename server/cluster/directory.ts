/**
 * The directory of homes, and the lease by which a node has them. A node serves as long as its lease is
 * valid by its own clocks, which end it earlier than Redis does: so no office has two homes.
 *
 * @module
 */
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";

/** The home of an office: the one node that has its members, their seats and their calls. */
export interface Home {
  /** The node. */
  readonly node: string;
  /** Milliseconds until its lease ends, unless it is renewed before. */
  readonly leaseLeftMs: number;
}

/** Which node is the home of which office. */
export interface Directory {
  /** This node: random at each term; empty while it is not in the cluster. */
  readonly node: string;
  /** The offices whose home is this node. */
  readonly homes: Pick<ReadonlySet<string>, "has">;
  /**
   * Returns the home of an office, which becomes this node where the office has none, or one whose lease
   * has ended. After a restart of Redis it waits, for up to a lease, until all homes are known again.
   *
   * @throws {RegistryUnavailableError} when Redis does not answer, or the lease of this node has ended
   */
  claim(office: string): Promise<Home>;
  /**
   * Ends the home of an office at this node; does nothing for one whose home is elsewhere. What Redis
   * does not answer is repeated, and never ends a home that was claimed later.
   */
  release(office: string): Promise<void>;
}

/** The answer to a beat. */
export type Beat =
  /** The lease is renewed. */
  | {
    readonly state: "ok";
    /** The other nodes whose lease has not ended, with what each publishes about itself. */
    readonly nodes: ReadonlyMap<string, string>;
    /** Whether it is the first one, or Redis was restarted, replaced or emptied, or lost homes, since the last one. */
    readonly isNew: boolean;
    /** Whether Redis had lost data then, and was not only restarted or replaced. */
    readonly isEmpty: boolean;
    /** Milliseconds for which an office without a home gets none. */
    readonly settleMs: number;
    /** Offices that were at home here, and are elsewhere now. */
    readonly lost: readonly string[];
  }
  /** The lease has ended, with all homes at this node; another one needs another id. */
  | { readonly state: "reaped" };

/** The {@linkcode Directory} of one term of a node, whose lease it renews. */
export interface LeasedDirectory extends Directory, AsyncDisposable {
  readonly homes: Pick<ReadonlySet<string>, "has" | "size">;
  /**
   * Renews the lease of this node and of all its homes; the first one takes it.
   *
   * @param about what this node publishes about itself
   * @throws {RegistryUnavailableError} when it was not answered: the lease may be renewed or not
   */
  beat(about: string): Promise<Beat>;
  /** Ends the lease immediately; all offices that are at home here are without a home. */
  leave(): Promise<void>;
}

/** The error for what needs the directory while Redis is away; a join is answered with its text. */
export class RegistryUnavailableError extends ProtocolError {
  /** @param cause the error of Redis, which clients do not get */
  constructor(cause?: unknown) {
    super(
      ErrorCode.INTERNAL_ERROR,
      "The registry of offices cannot be reached: try again",
      { cause, fields: { reason: "registry unavailable" } },
    );
  }
}

/** A moment by two clocks, in milliseconds. */
export interface Instant {
  /** `performance.now()`: it never jumps, but may stand still while a machine sleeps. */
  readonly steady: number;
  /** `Date.now()`: it goes on while a machine sleeps, but may be set. */
  readonly wall: number;
}

/** Reads the time, and calls back later. */
export interface Clock {
  /** The time by two clocks. */
  now(): Instant;
  /**
   * Calls back once.
   *
   * @returns a function that prevents it
   */
  after(milliseconds: number, callback: () => void): () => void;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => ({ steady: performance.now(), wall: Date.now() }),
  after(milliseconds, callback) {
    // Rounded up: what is due in half a millisecond is not due yet.
    const timer = setTimeout(callback, Math.ceil(milliseconds));
    return () => clearTimeout(timer);
  },
};

/** How long a lease is valid where an operator sets no other time. */
export const LEASE_MS = 6000;

/** A lease is renewed so often in its time: some beats may fail. */
const BEATS = 4;

/** A node stops serving so long before others may have its homes. */
const MARGIN_MS = 1000;

/** When a beat has failed, the next one does not wait for its turn. */
const RETRY_MS = 500;

/** What a node may do by its lease. */
type LeaseState =
  /** It serves. */
  | "valid"
  /** Its clocks disagree: it refuses requests until a beat is answered. */
  | "doubtful"
  /** Others may have its homes: it closes the connections of all clients. */
  | "over";

/**
 * Decides when a node may serve (the other half is Redis, which never assigns the home of a living node again).
 *
 * It has no clock and no timer: it gets the time, and is asked at each event, since a process that was
 * frozen runs its timers late. The lease is counted from before its beat was sent; Redis counts from when
 * it arrived, which is later.
 */
export class Lease {
  readonly #leaseMs: number;
  #sent: Instant | undefined;
  #next = -Infinity;
  #retry = -Infinity;

  constructor(leaseMs: number = LEASE_MS) {
    this.#leaseMs = leaseMs;
  }

  /**
   * Notes that a beat was answered, and renewed the lease.
   *
   * @param sent the moment before it was sent
   */
  renewed(sent: Instant): void {
    this.#sent = sent;
    this.#next = sent.steady + this.#leaseMs / BEATS;
  }

  /** Notes that a beat has failed, or was not answered in time. */
  failed(now: Instant): void {
    this.#next = this.#retry = now.steady + RETRY_MS;
  }

  /** Ends it: others have its seats, or it has left. */
  end(): void {
    this.#sent = undefined;
    this.#next = Infinity;
  }

  /** Returns what the node may do; `over` before the first beat. */
  state(now: Instant): LeaseState {
    if (this.#sent === undefined) return "over";
    const limit = this.#leaseMs - MARGIN_MS;
    if (now.steady - this.#sent.steady >= limit) return "over";
    const wall = now.wall - this.#sent.wall;
    return wall >= limit ? "doubtful" : "valid";
  }

  /** In how many milliseconds the next beat is due; 0: immediately; infinite after {@linkcode end}. */
  untilBeat(now: Instant): number {
    const due = this.state(now) === "doubtful" ? this.#retry : this.#next;
    return Math.max(0, due - now.steady);
  }

  /** In how many milliseconds the lease is over, if no beat is answered until then; 0 when it is. */
  untilOver({ steady }: Instant): number {
    if (this.#sent === undefined) return 0;
    const end = this.#sent.steady + this.#leaseMs - MARGIN_MS;
    return Math.max(0, end - steady);
  }
}
