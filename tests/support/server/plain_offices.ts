import {
  PROFILES,
  type ProtocolName,
  type Role,
  type Waiting,
} from "../../../protocol/mod.ts";
import { DEFAULT_LIMITS, overLimit } from "../../../server/limits/limits.ts";
import { OfficeClient } from "../../../server/office/office_client.ts";
import { LocalOffices } from "../../../server/office/office.ts";
import type {
  ObservedCall,
  OfficeParts,
  Offices,
  Peer,
} from "../../../server/office/peer.ts";
import {
  type AuditEvent,
  type CallEnd,
  endText,
} from "../../../server/shared/audit.ts";
import type { Deadline } from "../../../shared/deadlines.ts";
import type { Identity } from "../../../server/shared/identity.ts";
import { Payload } from "../../../server/shared/payload.ts";

/** Offices without sockets, with a clock that the test advances. */
export type PlainOffices = ReturnType<typeof plainOffices>;

/** A client of them. */
export type PlainClient = ReturnType<PlainOffices["connect"]>;

/** Settings of the offices. */
export interface PlainOptions {
  readonly callsPerAgent?: number;
  readonly membersPerOffice?: number;
  /** Makes what keeps the devices of Computers, from the parts that it needs. */
  readonly devicesOf?: (
    parts: Pick<OfficeParts, "audit" | "clock" | "deadlines">,
  ) => NonNullable<OfficeParts["devicesOf"]>;
  /** In place of the local ones, for clients. */
  readonly elsewhere?: (local: LocalOffices) => Offices;
}

/** Settings of a client. */
interface ClientOptions {
  readonly id?: string;
  readonly protocol?: ProtocolName;
  readonly version?: string;
  readonly instance?: string;
  readonly identity?: Identity;
  readonly role?: Role;
}

/** A request that a client got. */
export interface Asked {
  readonly event: string;
  readonly payload: Record<string, unknown>;
  /** The payload as it came. */
  readonly raw: Payload;
  isForgotten: boolean;
  /** Answers with the first argument of an ack, which may be a payload; `undefined` for an empty one. */
  answer(value: unknown): void;
}

/** The office of clients that name none. */
export const OFFICE = "north";

/** Creates offices without members. */
export function plainOffices(options: PlainOptions = {}) {
  let now = 0;
  let ids = 0;
  const deadlines = new Set<Deadline>();
  const audit: AuditEvent[] = [];
  /** The limits that clients reached. */
  const hits: string[] = [];
  /** The names of events that no version has. */
  const unknown: string[] = [];
  /** Each request that passed its checks, and its outcome once it has ended. */
  const observed: { call: ObservedCall; outcome?: string }[] = [];
  /** What calls wait for, as it changed. */
  const waits: [reqId: string, waiting: Waiting | null][] = [];
  const limits = { ...DEFAULT_LIMITS, ...options };
  const shared: Pick<OfficeParts, "audit" | "clock" | "deadlines"> = {
    clock: { now: () => now, date: () => 1_000_000 + now },
    deadlines: {
      add: (deadline) => void deadlines.add(deadline),
      remove: (deadline) => void deadlines.delete(deadline),
    },
    audit: (event) => void audit.push(event),
  };
  const parts: OfficeParts = {
    ...shared,
    devicesOf: options.devicesOf?.(shared),
    limiter: {
      limits,
      refuse(limit) {
        hits.push(limit);
        return overLimit(limits, limit);
      },
      recordHit: (limit) => void hits.push(limit),
    },
    observe: (call) => {
      const line: typeof observed[number] = { call };
      observed.push(line);
      return (_answer: unknown, end: CallEnd) => {
        if (line.outcome !== undefined) throw new Error("ended twice");
        line.outcome = endText(end);
      };
    },
    waits: (call, waiting) => void waits.push([call.reqId, waiting]),
    maxMessageBytes: 8 * 2 ** 20,
    requestTimeoutMs: 30_000,
  };
  const offices = new LocalOffices(parts);
  const seen = options.elsewhere?.(offices) ?? offices;
  const connect = (client: ClientOptions = {}) => {
    const { protocol = "0.2" } = client;
    const profile = PROFILES[protocol];
    /** The notifications that it got, and not taken yet. */
    const heard: { event: string; payload: unknown }[] = [];
    const asked: Asked[] = [];
    /** Why its connection was closed. */
    const ended: string[] = [];
    /** The events whose answers it missed, since it was gone. */
    const gone: string[] = [];
    const peer: Peer = {
      id: client.id ?? `s${ids++}`,
      profile,
      version: client.version ?? profile.version,
      instance: client.instance,
      identity: client.identity,
      address: "10.0.0.1",
      send: (event, payload) =>
        void heard.push({ event, payload: payload.parse() }),
      ask(event, raw, answered) {
        const one: Asked = {
          event,
          raw,
          payload: raw.parse() as Record<string, unknown>,
          isForgotten: false,
          answer(value) {
            if (one.isForgotten) return;
            const isRaw = value === undefined || value instanceof Payload;
            answered(isRaw ? value : Payload.of(value));
          },
        };
        asked.push(one);
        return () => one.isForgotten = true;
      },
      end: (reason, isReplaced) =>
        void ended.push(isReplaced ? `replaced: ${reason}` : reason),
    };
    const connection = new OfficeClient(peer, {
      offices: seen,
      audit: parts.audit,
      clock: parts.clock,
      unknownEvent: (_peer, name) => void unknown.push(name),
    }, client.role);
    /** Sends an event; returns the acks so far, each with all of its arguments. */
    const send = (event: string, payload?: unknown): unknown[][] => {
      const acks: unknown[][] = [];
      connection.receive(event, Payload.of(payload), (answer) => {
        if (answer === undefined) gone.push(event);
        else if (answer instanceof Payload) acks.push([answer.parse()]);
        else acks.push([...answer]);
      });
      return acks;
    };
    return {
      peer,
      connection,
      heard,
      asked,
      ended,
      gone,
      send,
      take: () => heard.splice(0),
      /** Joins an office; returns the ack. */
      join: (role: Role, name: string, office_id = OFFICE) =>
        send("server:join_office", { role, name, office_id })[0],
      /** Closes the connection. */
      vanish: () => connection.gone(),
    };
  };
  return {
    offices,
    audit,
    observed,
    waits,
    hits,
    unknown,
    deadlines,
    connect,
    /** Lets time pass. */
    advance(ms: number) {
      now += ms;
      for (const deadline of [...deadlines]) {
        if (deadline.due > now || !deadlines.delete(deadline)) continue;
        deadline.expire();
      }
    },
    /** Connects a client that joins; it must be let in. */
    join(
      role: Role,
      name: string,
      { office, ...client }: ClientOptions & { readonly office?: string } = {},
    ) {
      const plain = connect(client);
      const [ok, reason] = plain.join(role, name, office) ?? [];
      if (ok !== true) throw new Error(`cannot join: ${reason}`);
      return plain;
    },
  };
}
