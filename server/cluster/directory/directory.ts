import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";

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
  /** Ends the lease at once; all offices that are at home here are without a home. */
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
