import type { ProtocolName } from "../../protocol/mod.ts";
import type { Policy } from "../shared/identity.ts";
import type { AuditSeat } from "../shared/audit.ts";
import type { Hold, Order } from "../sessions/operate.ts";
import type { Member, Seat } from "../shared/member.ts";
import type { Answered, Question } from "../sessions/ask.ts";
import type { PendingCall, Session } from "../shared/session.ts";

/** Who looks on and changes things. */
export interface Operator {
  /** Names it in the audit log. */
  readonly by: string;
  /** Which offices it sees. */
  readonly policy: Policy;
}

/** The offices of one protocol version. */
export interface OperatedOffices {
  /** The version. */
  readonly protocol: ProtocolName;
  /** Its sessions. */
  readonly sessions: {
    /** This node, in a cluster. */
    readonly node: string | undefined;
    /** The calls that were sent so far. */
    readonly calls: number;
    /** Returns the sessions of this node. */
    open(): Iterable<Session>;
    /** Lists the members of an office, on all nodes. */
    list(office: string): Promise<readonly (Member & Partial<Seat>)[]>;
    /** Kicks a member. */
    kick(
      session: Session,
      member: Seat,
      order: Order & Hold,
    ): Promise<void>;
    /** Keeps a seat closed. */
    bar(seat: AuditSeat, order: Pick<Order, "reason"> & Hold): void;
    /** Asks a Computer what an Agent could. */
    ask(question: Question): Promise<Answered>;
    /** Ends a call for both sides. */
    cancel(session: Session, call: PendingCall, order: Order): void;
  };
}
