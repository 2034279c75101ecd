import {
  namesOf,
  type Notification,
  toErrorPayload,
} from "../../protocol/mod.ts";
import {
  isTranslated,
  type ServerNames,
  translateNotice,
} from "../../protocol/translate.ts";
import { type CallEnd, isFaultOf } from "../shared/call_end.ts";
import { Payload } from "../shared/payload.ts";
import type { Call } from "./call.ts";
import type { Peer, Seated, WantedSeat } from "./peer.ts";

/** A member, or an operator, as its office keeps it. */
export interface Member extends Seated {
  /** The pending calls that it sent, or has to answer: a list, which `removeItem` keeps short. */
  readonly calls: Call[];
  /** What operators see of it. */
  readonly record: MemberRecord;
  /** What a Computer's MCP servers are called by members of the other kind, once it was asked by one. */
  names: ServerNames | undefined;
  /** Whether the log has that its requests give another name than its seat's. */
  saidOtherName: boolean;
}

/** What operators see of a member. */
export interface MemberRecord {
  /** When it took its seat, in milliseconds since 1970. */
  readonly joinedAt: number;
  /** The number of calls that it sent, or got. */
  calls: number;
  /** The last error that its requests ended with. */
  lastError: MemberError | undefined;
}

/** An error that a request ended with. */
export interface MemberError extends CallEnd {
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** A message for people, if there was one. */
  readonly message?: string;
}

/** Creates a member that has not done anything yet. */
export const newMember = (
  peer: Peer,
  { role, name, office }: WantedSeat,
  joinedAt: number,
): Member => ({
  ...{ peer, role, name, office, calls: [] },
  record: { joinedAt, calls: 0, lastError: undefined },
  names: undefined,
  saidOtherName: false,
});

/** The seats of one office: the Agent's, one for each name of a Computer, and those of operators. */
export class Members {
  #agent: Member | undefined;
  /** In the order of their joins. */
  readonly #computers = new Map<string, Member>();
  readonly #operators = new Set<Member>();

  /** The members: the Agent first, the Computers in the order of their joins; no operators. */
  get all(): Member[] {
    return [...(this.#agent ? [this.#agent] : []), ...this.#computers.values()];
  }

  /** Those that send requests. */
  get callers(): Member[] {
    return [...(this.#agent ? [this.#agent] : []), ...this.#operators];
  }

  /** The operators. */
  get operators(): Member[] {
    return [...this.#operators];
  }

  /** The number of members. */
  get size(): number {
    return this.#computers.size + (this.#agent ? 1 : 0);
  }

  /** Whether no seat is taken. */
  get isEmpty(): boolean {
    return this.size === 0 && this.#operators.size === 0;
  }

  /** Finds a Computer by its name. */
  computer(name: string): Member | undefined {
    return this.#computers.get(name);
  }

  /** Returns who has the seat that a member would get. */
  holder({ role, name }: WantedSeat): Member | undefined {
    if (role === "operator") return undefined;
    return role === "agent" ? this.#agent : this.#computers.get(name);
  }

  /** Returns whether a member still has its seat. */
  holds(member: Member): boolean {
    return member.role === "operator"
      ? this.#operators.has(member)
      : this.holder(member) === member;
  }

  /** Gives a member its seat, which must be free. */
  add(member: Member): void {
    if (member.role === "agent") this.#agent = member;
    else if (member.role === "computer") {
      this.#computers.set(member.name, member);
    } else this.#operators.add(member);
  }

  /** Takes a member's seat away. */
  remove(member: Member): void {
    if (member.role === "agent") this.#agent = undefined;
    else if (member.role === "computer") this.#computers.delete(member.name);
    else this.#operators.delete(member);
  }

  /**
   * Notifies all members, in the order of their seats, but the one that causes it (spec §3). All get the
   * same payload object, or the same translation of it.
   */
  notify(event: Notification, notice: object, cause?: Member): void {
    const plain = Payload.of(notice);
    let translated: Payload | undefined;
    for (const member of this.all) {
      if (member === cause) continue;
      const names = cause?.names;
      if (
        names && isTranslated(event, cause.peer.profile, member.peer.profile)
      ) {
        translated ??= Payload.of(translateNotice(notice, names));
        notifyMember(member, event, translated);
      } else notifyMember(member, event, plain);
    }
  }
}

/** Sends a notification under each name that the member's version may know, if it has it (spec §12). */
export function notifyMember(
  { peer }: Member,
  event: Notification,
  payload: Payload,
): void {
  if (peer.profile.lacks.includes(event)) return;
  for (const name of namesOf(peer.profile, event)) peer.send(name, payload);
}

/** The longest message of an error that is kept, in characters. */
const MAX_MESSAGE_CHARS = 500;

/** Notes for operators how a request of a member ended, if that is an error of the member. */
export function noteFailure(
  { role, record }: Member,
  answer: Payload | undefined,
  end: CallEnd,
  at: number,
): void {
  if (!isFaultOf(role === "computer" ? role : "agent", end)) return;
  const message = toErrorPayload(answer?.peek())?.message;
  record.lastError = {
    at,
    ...end,
    ...(typeof message === "string" &&
      { message: message.slice(0, MAX_MESSAGE_CHARS) }),
  };
}
