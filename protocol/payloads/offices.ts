/**
 * Joining and leaving offices, and their members (protocol §4, §5).
 *
 * @module
 */
import * as z from "../validation.ts";
import { toErrorPayload } from "../errors.ts";
import { devices, type DeviceVerifier } from "./devices.ts";
import type { AgentCallData } from "./tools.ts";

/** The role of a member of an office (protocol §1). */
export type Role = "agent" | "computer";

/** Requests to join an office (protocol §4, §5). */
export interface EnterOfficeReq {
  /** Fixed for the connection by its first join. */
  role: Role;
  /** The member's name; a Computer's is unique in its office. No control characters. */
  name: string;
  /** The office, which its first member creates. No control characters. */
  office_id: string;
  /** The devices of a Computer by which a person approves calls; an extension of this package (protocol §17). */
  devices?: DeviceVerifier[];
}

/** Requests to leave an office (protocol §4, §5). */
export interface LeaveOfficeReq {
  /** Must be the office that the caller is in. */
  office_id: string;
}

/** Requests the members of the caller's office (protocol §4). */
export interface ListRoomReq extends AgentCallData {
  /** Must be the office that the caller is in. */
  office_id: string;
}

/** A member of an office (protocol §4). */
export interface SessionInfo {
  /** The Socket.IO id of the member's connection. */
  sid: string;
  /** The name it joined with. */
  name: string;
  /** Its description. */
  role: Role;
  /** The office it is in. */
  office_id: string;
  /** The version of the request that opened its session; absent in profile 0.1 (protocol §12). */
  a2c_version?: string;
}

/** The members of an office (protocol §4). */
export interface ListRoomRet {
  /** All members, including the caller. */
  sessions: SessionInfo[];
  /** The `req_id` of the request. */
  req_id: string;
}

/** Notifies of a member that joined; has exactly one of the two names (protocol §3). */
export interface EnterOfficeNotification {
  /** The office. */
  office_id: string;
  /** The Computer that joined. */
  computer?: string;
  /** The Agent that joined. */
  agent?: string;
}

/** Notifies of a member that left; has exactly one of the two names (protocol §3). */
export interface LeaveOfficeNotification {
  /** The office. */
  office_id: string;
  /** The Computer that left. */
  computer?: string;
  /** The Agent that left. */
  agent?: string;
}

/** The two ack arguments of join and leave: success, and the reason for a refusal (protocol §3). */
export type OfficeAck = [ok: true, reason: null] | [ok: false, reason: string];

const role = z.enum(["agent", "computer"]);

const memberNotification = z.pipe(
  z.looseObject({
    office_id: z.string(),
    computer: z.maybe(z.string()),
    agent: z.maybe(z.string()),
  }),
  z.transform(({ computer, agent, ...rest }) => ({
    ...rest,
    // Older SDKs send null for the absent name.
    ...(typeof computer === "string" && { computer }),
    ...(typeof agent === "string" && { agent }),
  })),
);

/** Parses a {@linkcode Role}, such as `auth.role` (protocol §2). */
export const parseRole: z.Parser<Role> = z.parser(role);
/** Parses an {@linkcode EnterOfficeReq}. */
export const parseEnterOfficeReq = z.parser(z.looseObject({
  role,
  name: z.officeIdentifier,
  office_id: z.officeIdentifier,
  devices: z.exactOptional(devices),
}));
/** Parses a {@linkcode LeaveOfficeReq}. */
export const parseLeaveOfficeReq = z.parser(z.looseObject({
  office_id: z.officeIdentifier,
}));
/** Parses a {@linkcode ListRoomReq}. */
export const parseListRoomReq = z.parser(z.looseObject({
  ...z.agentCallDataShape,
  office_id: z.officeIdentifier,
}));
/** Parses a {@linkcode ListRoomRet}. */
export const parseListRoomRet = z.parser(z.looseObject({
  sessions: z.listOf(z.looseObject({
    sid: z.string(),
    name: z.string(),
    role,
    office_id: z.string(),
    a2c_version: z.exactOptional(z.string()),
  })),
  req_id: z.string(),
}));
/** Parses an {@linkcode EnterOfficeNotification}. */
export const parseEnterOfficeNotification = z.parser(memberNotification);
/** Parses a {@linkcode LeaveOfficeNotification}. */
export const parseLeaveOfficeNotification = z.parser(memberNotification);

/**
 * Parses the ack of a join or leave: two arguments, or one two-element array (protocol §3).
 *
 * Anything else counts as a refusal, with its message if it has one: a caller must
 * never mistake an error object for success.
 *
 * @param args the arguments of the ack callback
 */
export function readOfficeAck(args: readonly unknown[]): OfficeAck {
  const [ok, reason] = args.length === 1 && Array.isArray(args[0])
    ? args[0]
    : args;
  if (ok === true) return [true, null];
  if (typeof reason === "string") return [false, reason];
  return [false, toErrorPayload(ok)?.message ?? "refused without a reason"];
}
