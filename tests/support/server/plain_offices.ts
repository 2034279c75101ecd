import {
  PROFILES,
  type ProtocolName,
  type Role,
  type Waiting,
} from "../../../protocol/mod.ts";
import { DEFAULT_LIMITS, overLimit } from "../../../server/limits/limits.ts";
import { Connection } from "../../../server/office/connection.ts";
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
import type { Deadline } from "../../../server/shared/pending.ts";
import type { Identity } from "../../../server/shared/identity.ts";
import { Payload } from "../../../server/shared/payload.ts";

/** Offices without sockets, with a clock that the test advances. */
export interface PlainOffices {
  readonly offices: LocalOffices;
  readonly audit: AuditEvent[];
  /** Each request that passed its checks, and its outcome once it has ended. */
  readonly observed: { call: ObservedCall; outcome?: string }[];
  /** What calls wait for, as it changed. */
  readonly waits: [reqId: string, waiting: Waiting | null][];
  /** The limits that clients reached. */
  readonly hits: string[];
  /** The names of events that no version has. */
  readonly unknown: string[];
  /** Pending deadlines. */
  readonly deadlines: ReadonlySet<Deadline>;
  /** Lets time pass. */
  advance(ms: number): void;
  /** Connects a client. */
  connect(options?: PlainClientOptions): PlainClient;
  /** Connects a client that joins; it must be let in. */
  join(role: Role, name: string, options?: JoinOptions): PlainClient;
}

/** Settings of the offices. */
export interface PlainOptions {
  readonly callsPerAgent?: number;
  readonly membersPerOffice?: number;
  /** In place of the local ones, for clients. */
  readonly elsewhere?: (local: LocalOffices) => Offices;
}

/** Settings of a client. */
export interface PlainClientOptions {
  readonly id?: string;
  readonly protocol?: ProtocolName;
  readonly version?: string;
  readonly instance?: string;
  readonly identity?: Identity;
  readonly role?: Role;
}

/** Settings of a client that joins. */
export interface JoinOptions extends PlainClientOptions {
  readonly office?: string;
}

/** A request that a client got. */
export interface Asked {
  readonly event: string;
  readonly payload: Record<string, unknown>;
  /** What came, as it came. */
  readonly raw: Payload;
  isForgotten: boolean;
  /** Answers with the first argument of an ack, which may be a payload; `undefined` for an empty one. */
  answer(value: unknown): void;
}

/** A client without a socket. */
export interface PlainClient {
  readonly peer: Peer;
  readonly connection: Connection;
  /** The notifications that it got, and not taken yet. */
  readonly heard: { event: string; payload: unknown }[];
  /** The requests that it got. */
  readonly asked: Asked[];
  /** Why its connection was closed. */
  readonly ended: string[];
  /** The events whose answers it missed, since it was gone. */
  readonly gone: string[];
  /** Takes the notifications. */
  take(): { event: string; payload: unknown }[];
  /** Sends an event; returns the acks so far, each with all of its arguments. */
  send(event: string, payload?: unknown): unknown[][];
  /** Joins an office; returns the ack. */
  join(role: Role, name: string, office?: string): unknown[] | undefined;
  /** Closes the connection. */
  vanish(): void;
}

/** The office of clients that name none. */
export const OFFICE = "north";

/** Creates offices without members. */
export function plainOffices(options: PlainOptions = {}): PlainOffices {
  let [now, ids] = [0, 0];
  const open = new Set<Deadline>();
  const [audit, hits, unknown]: [AuditEvent[], string[], string[]] = [
    [],
    [],
    [],
  ];
  const observed: PlainOffices["observed"] = [];
  const waits: PlainOffices["waits"] = [];
  const limits = { ...DEFAULT_LIMITS, ...options };
  const parts: OfficeParts = {
    clock: { now: () => now, date: () => 1_000_000 + now },
    deadlines: {
      add: (deadline) => void open.add(deadline),
      remove: (deadline) => void open.delete(deadline),
    },
    limiter: {
      limits,
      refuse(limit) {
        hits.push(limit);
        return overLimit(limits, limit);
      },
      recordHit: (limit) => void hits.push(limit),
    },
    audit: (event) => void audit.push(event),
    observe: (call) => {
      const line: PlainOffices["observed"][number] = { call };
      observed.push(line);
      return (_answer: unknown, end: CallEnd) => {
        if (line.outcome !== undefined) throw new Error("ended twice");
        line.outcome = endText(end);
      };
    },
    waits: (call, waiting) => void waits.push([call.reqId, waiting]),
    requestTimeoutMs: 30_000,
  };
  const offices = new LocalOffices(parts);
  const seen = options.elsewhere?.(offices) ?? offices;
  const connect = (client: PlainClientOptions = {}) => {
    const { protocol = "0.2" } = client;
    const profile = PROFILES[protocol];
    const heard: { event: string; payload: unknown }[] = [];
    const asked: Asked[] = [];
    const ended: string[] = [];
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
    const connection = new Connection(peer, {
      offices: seen,
      audit: parts.audit,
      clock: parts.clock,
      unknownEvent: (_peer, name) => void unknown.push(name),
    }, client.role);
    const plain: PlainClient = {
      ...{ peer, connection, heard, asked, ended, gone },
      take: () => heard.splice(0),
      send(event, payload) {
        const acks: unknown[][] = [];
        connection.receive(event, Payload.of(payload), (answer) => {
          if (answer === undefined) gone.push(event);
          else {
            acks.push(
              answer instanceof Payload ? [answer.parse()] : [...answer],
            );
          }
        });
        return acks;
      },
      join: (role, name, office_id = OFFICE) =>
        plain.send("server:join_office", { role, name, office_id })[0],
      vanish: () => connection.gone(),
    };
    return plain;
  };
  return {
    ...{
      offices,
      audit,
      observed,
      waits,
      hits,
      unknown,
      deadlines: open,
      connect,
    },
    advance(ms) {
      now += ms;
      for (const deadline of [...open]) {
        if (deadline.due <= now && open.delete(deadline)) deadline.expire();
      }
    },
    join(role, name, { office, ...client } = {}) {
      const plain = connect(client);
      const [ok, reason] = plain.join(role, name, office) ?? [];
      if (ok !== true) throw new Error(`cannot join: ${reason}`);
      return plain;
    },
  };
}
