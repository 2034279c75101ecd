import * as z from "../validation/schema.ts";
import {
  agentCallDataShape,
  officeIdentifier,
} from "../validation/identifiers.ts";
import { toErrorPayload } from "../errors/protocol_error.ts";
import { listOf, maybe } from "../validation/plain_values.ts";
import { type Parser, parser } from "../validation/parser.ts";
import type { AgentCallData } from "./tools.ts";

/** What a member of an office is (spec §1). */
export type Role = "agent" | "computer";

/** Asks for membership of an office (spec §4, §5). */
export interface EnterOfficeReq {
  /** Fixed for the connection by its first join. */
  role: Role;
  /** The member's name; a Computer's is unique in its office. No control characters. */
  name: string;
  /** The office; it comes into being with its first member. No control characters. */
  office_id: string;
}

/** Gives membership up (spec §4, §5). */
export interface LeaveOfficeReq {
  /** Must be the office that the caller is in. */
  office_id: string;
}

/** Asks for the members of the caller's office (spec §4). */
export interface ListRoomReq extends AgentCallData {
  /** Must be the office that the caller is in. */
  office_id: string;
}

/** One member of an office, as shown to its Agent (spec §4). */
export interface SessionInfo {
  /** The Socket.IO id that speaks for the member. */
  sid: string;
  /** The name it joined with. */
  name: string;
  /** What it is. */
  role: Role;
  /** The office it is in. */
  office_id: string;
  /** The version of the request that opened its session; left out by profile 0.1 (spec §12). */
  a2c_version?: string;
}

/** The members of an office (spec §4). */
export interface ListRoomRet {
  /** Every member, the caller included. */
  sessions: SessionInfo[];
  /** The request's own. */
  req_id: string;
}

/** Tells the members of an office that somebody joined; exactly one of the names is there (spec §3). */
export interface EnterOfficeNotification {
  /** The office. */
  office_id: string;
  /** The Computer that joined. */
  computer?: string;
  /** The Agent that joined. */
  agent?: string;
}

/** Tells the members of an office that somebody left; exactly one of the names is there (spec §3). */
export interface LeaveOfficeNotification {
  /** The office. */
  office_id: string;
  /** The Computer that left. */
  computer?: string;
  /** The Agent that left. */
  agent?: string;
}

/** The two ack arguments of join and leave: success, and why not (spec §3). */
export type OfficeAck = [ok: true, reason: null] | [ok: false, reason: string];

const role = z.enum(["agent", "computer"]);

/** @internal */
export const enterOfficeReqSchema = z.looseObject({
  role,
  name: officeIdentifier,
  office_id: officeIdentifier,
}) satisfies z.ZodMiniType<EnterOfficeReq>;

/** @internal */
export const leaveOfficeReqSchema = z.looseObject({
  office_id: officeIdentifier,
}) satisfies z.ZodMiniType<LeaveOfficeReq>;

/** @internal */
export const listRoomReqSchema = z.looseObject({
  ...agentCallDataShape,
  office_id: officeIdentifier,
}) satisfies z.ZodMiniType<ListRoomReq>;

/** @internal */
export const listRoomRetSchema = z.looseObject({
  sessions: listOf(z.looseObject({
    sid: z.string(),
    name: z.string(),
    role,
    office_id: z.string(),
    a2c_version: z.exactOptional(z.string()),
  })),
  req_id: z.string(),
});

/** @internal */
export const memberNotificationSchema = z.pipe(
  z.looseObject({
    office_id: z.string(),
    computer: maybe(z.string()),
    agent: maybe(z.string()),
  }),
  z.transform(({ computer, agent, ...rest }) => ({
    ...rest,
    // The older SDKs send null for the absent name.
    ...(typeof computer === "string" && { computer }),
    ...(typeof agent === "string" && { agent }),
  })),
);

/** Parses a {@linkcode Role}, such as `auth.role` (spec §2). */
export const parseRole: Parser<Role> = parser(role);
/** Parses an {@linkcode EnterOfficeReq}. */
export const parseEnterOfficeReq: Parser<EnterOfficeReq> = parser(
  enterOfficeReqSchema,
);
/** Parses a {@linkcode LeaveOfficeReq}. */
export const parseLeaveOfficeReq: Parser<LeaveOfficeReq> = parser(
  leaveOfficeReqSchema,
);
/** Parses a {@linkcode ListRoomReq}. */
export const parseListRoomReq: Parser<ListRoomReq> = parser(listRoomReqSchema);
/** Parses a {@linkcode ListRoomRet}. */
export const parseListRoomRet: Parser<ListRoomRet> = parser(
  listRoomRetSchema,
);
/** Parses an {@linkcode EnterOfficeNotification}. */
export const parseEnterOfficeNotification: Parser<EnterOfficeNotification> =
  parser(memberNotificationSchema);
/** Parses a {@linkcode LeaveOfficeNotification}. */
export const parseLeaveOfficeNotification: Parser<LeaveOfficeNotification> =
  parser(memberNotificationSchema);

/**
 * Reads the ack of a join or leave: two arguments, or one two-element array (spec §3).
 *
 * Anything else counts as a refusal, with its message when it holds one: a caller must
 * never take an error object for success.
 *
 * @param args the arguments that the ack callback was called with
 */
export function readOfficeAck(args: readonly unknown[]): OfficeAck {
  const [ok, reason] = args.length === 1 && Array.isArray(args[0])
    ? args[0]
    : args;
  if (ok === true) return [true, null];
  if (typeof reason === "string") return [false, reason];
  return [false, toErrorPayload(ok)?.message ?? "refused without a reason"];
}
