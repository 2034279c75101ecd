import {
  CLIENT_EVENTS,
  ErrorCode,
  isClientEvent,
  namesOf,
  type Notification,
  ProtocolError,
  SERVER_EVENTS,
  type ServerEvent,
  type ServerEventSpec,
  toErrorPayload,
} from "../../protocol/mod.ts";
import type { ServerNames } from "../../protocol/translate.ts";
import { type CallEnd, isFaultOf } from "../shared/audit.ts";
import type { Payload } from "../shared/payload.ts";
import type { Call } from "./call.ts";
import type { MemberEvent, Seated } from "./peer.ts";
import { restrictsNames } from "../shared/identity.ts";

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
interface MemberRecord {
  /** When it took its seat, in milliseconds since 1970. */
  readonly joinedAt: number;
  /** The number of calls that it sent, or got. */
  calls: number;
  /** The last error that its requests ended with, when, and the message for people, if there was one. */
  lastError:
    | CallEnd & { readonly at: number; readonly message?: string }
    | undefined;
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

// ------------------------------------------------------------------ who may send what (spec §5)

/** What a request claims about its sender. */
interface Claim {
  /** The role that may send it. */
  readonly role: ServerEventSpec<ServerEvent>["from"];
  /** The claimed name: `agent` of an Agent's request, `computer` of a Computer's. */
  readonly name: string;
  /** The office that it names, if any. */
  readonly office?: string;
}

/**
 * Decides whether a member may send a request with a valid payload: role (403), name (403), office
 * (4104), in this order. Who is no member was refused before ({@linkcode refuseOutsider}).
 *
 * A Computer must give its own name. An Agent may give any, since released SDKs take it from another
 * setting than the name of the join; the name of its seat counts. Credentials that restrict names
 * require the exact name of an Agent, too.
 *
 * @throws {ProtocolError} with the code of the first check that fails
 */
export function checkAccess(
  { role, name, office, peer }: Seated,
  claim: Claim,
): void {
  if ((role === "operator" ? "agent" : role) !== claim.role) {
    const sender = claim.role === "agent" ? "an agent" : "a computer";
    throw forbidden(`Only ${sender} may send this event`);
  }
  const { policy } = peer.identity ?? {};
  const isExact = role === "computer" ||
    role === "agent" && policy !== undefined && restrictsNames(policy);
  if (isExact && name !== claim.name) {
    throw forbidden(
      `Cannot act for another member: "${role}" must be the name you joined with`,
    );
  }
  if (claim.office !== undefined && claim.office !== office) {
    throw new ProtocolError(
      ErrorCode.CROSS_ROOM_ACCESS,
      "Cannot reach another office: office_id must be the one you are in",
    );
  }
}

/** The error for what a role, a name or an operator's order forbids. */
export const forbidden = (message: string): ProtocolError =>
  new ProtocolError(ErrorCode.FORBIDDEN, message);

/**
 * Refuses an event of a client without a seat.
 *
 * @throws {ProtocolError} 400 for an invalid payload, else the error
 */
export function refuseOutsider(
  event: MemberEvent,
  payload: Payload,
  error: ProtocolError = notInOffice(),
): never {
  if (isClientEvent(event)) CLIENT_EVENTS[event].parseRequest(payload.peek());
  else SERVER_EVENTS[event].parseRequest(payload.parse());
  throw error;
}

/** The error for a client that is in no office, or no longer in one. */
export const notInOffice = (): ProtocolError =>
  new ProtocolError(
    ErrorCode.NOT_IN_ROOM,
    "Not in an office: join one first",
  );
