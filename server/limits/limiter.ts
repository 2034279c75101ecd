/**
 * The record of refusals: each hit of a limit is counted, and a flood of them makes one line of the log
 * in ten seconds for each subject.
 *
 * @module
 */
import type { ProtocolError } from "../../protocol/mod.ts";
import {
  type AuditEvent,
  type AuditLines,
  Journal,
  type LimitSubject,
} from "../shared/audit.ts";
import {
  addressGroup,
  labelOf,
  type LimitName,
  type Limits,
  overLimit,
} from "./limits.ts";

/** The stage at which a client was refused. */
export type RefusalStage =
  /** At the HTTP request: version, origin, shutdown, connections per address, or by Engine.IO. */
  | "http"
  /** At the namespace: credentials, the `auth` object, or an unknown namespace. */
  | "namespace";

/** Counts refusals. */
interface RefusalMetrics {
  handshakeRefused(stage: RefusalStage, code: number): void;
  limitHit(limit: LimitName): void;
}

/** The audit events that a client can cause in floods. */
type Flooding = Extract<
  AuditEvent,
  { event: "handshake_refused" | "limit_hit" | "packet_refused" | "tls_failed" }
>;

/** The fields of an audit event. */
type AuditFields<Event extends keyof AuditLines> = Omit<
  AuditLines[Event],
  "omitted"
>;

/** A failed TLS handshake. */
export type TlsFailure = AuditFields<"tls_failed">;

/**
 * The limits of a server, and the record of refusals: every limit hit is counted, and a flood of
 * refusals makes one line of the audit log in ten seconds.
 */
export class Limiter {
  /** The limits in effect. */
  readonly limits: Limits;
  readonly #metrics: RefusalMetrics | undefined;
  readonly #lines: LogThrottle<Flooding>;

  /**
   * @param metrics counts everything, including what is not logged
   * @param journal takes the lines
   */
  constructor(
    limits: Limits,
    metrics: RefusalMetrics | undefined,
    journal: Journal = new Journal(),
  ) {
    this.limits = limits;
    this.#metrics = metrics;
    this.#lines = new LogThrottle((event, omitted) =>
      journal.write(omitted > 0 ? { ...event, omitted } : event)
    );
  }

  /** Records a hit, and creates the error for the client. */
  refuse(
    limit: Parameters<typeof overLimit>[1],
    subject: LimitSubject,
  ): ProtocolError {
    this.recordHit(limit, subject);
    return overLimit(this.limits, limit);
  }

  /**
   * Records that a client exceeded a limit.
   *
   * @param now milliseconds of a monotonic clock; default that of this process
   * @returns whether it was written to the log
   */
  recordHit(limit: LimitName, subject: LimitSubject, now?: number): boolean {
    this.#metrics?.limitHit(limit);
    const hit = {
      event: "limit_hit",
      limit: labelOf(limit),
      ...subject,
    } as const;
    return this.#write(hit, limit, now);
  }

  /**
   * Records a refused handshake; those with the same address, code and reason are throttled together.
   * Quoted parts of a reason do not count, since clients can often choose them.
   *
   * @param stage where it was refused
   * @param now as in {@linkcode recordHit}
   * @returns whether it was written to the log
   */
  recordRefusedHandshake(
    stage: RefusalStage,
    refused: AuditFields<"handshake_refused">,
    now?: number,
  ): boolean {
    const { code, principal = "", reason } = refused;
    this.#metrics?.handshakeRefused(stage, code);
    const kind = `${code} ${principal} ${reason.replaceAll(QUOTED_TEXT, "")}`;
    return this.#write({ event: "handshake_refused", ...refused }, kind, now);
  }

  /** Records a session that was closed because of a packet. */
  recordRefusedPacket(refused: AuditFields<"packet_refused">): void {
    this.#write({ event: "packet_refused", ...refused }, "packet");
  }

  /** Records a failed TLS handshake. */
  recordTlsFailure(failure: TlsFailure): void {
    this.#write({ event: "tls_failed", ...failure }, `tls ${failure.reason}`);
  }

  /** Writes summaries of all omitted lines, at shutdown. */
  flush(): void {
    this.#lines.flush();
  }

  #write(event: Flooding, kind: string, now = performance.now()): boolean {
    const subject = `${kind} ${addressGroup(event.address)}`;
    return this.#lines.take(subject, event, now);
  }
}

/** A JSON string. */
const QUOTED_TEXT = /"(?:[^"\\]|\\.)*"/g;

/** Milliseconds between two lines about the same subject. */
const SUMMARY_INTERVAL_MS = 10_000;

/** The number of subjects that are tracked separately; all others share one entry. */
const MAX_TRACKED_KEYS = 1000;

/** The last line about a subject, and what was omitted since. */
interface Line<T> {
  readonly at: number;
  omitted: number;
  /** The last omitted item. */
  last: T | undefined;
}

/**
 * Keeps floods out of a log: writes one line per subject in ten seconds, with the number of lines
 * omitted before it.
 *
 * At most a thousand subjects are written in that time, and as many summaries of subjects that are
 * forgotten; every line is counted in one of them. The caller provides the clock.
 */
export class LogThrottle<T> {
  readonly #write: (item: T, omitted: number) => void;
  readonly #lines = new Map<string, Line<T>>();

  /** @param write writes a line with the number of lines omitted before it */
  constructor(write: (item: T, omitted: number) => void) {
    this.#write = write;
  }

  /**
   * Writes a line, or omits it.
   *
   * @param subject what the line is about
   * @param now milliseconds of a monotonic clock
   * @returns whether it was written
   */
  take(subject: string, item: T, now: number): boolean {
    const key = this.#keyOf(subject, now);
    const line = this.#lines.get(key);
    if (line !== undefined && now - line.at < SUMMARY_INTERVAL_MS) {
      line.omitted++;
      line.last = item;
      return false;
    }
    this.#lines.delete(key); // keeps the map in the order of the last lines
    this.#lines.set(key, { at: now, omitted: 0, last: undefined });
    this.#write(item, line?.omitted ?? 0);
    return true;
  }

  /** Writes summaries of all omitted lines: the last line about each subject, and the number of the others. */
  flush(): void {
    for (const line of this.#lines.values()) this.#summarize(line);
    this.#lines.clear();
  }

  /** Returns the subject, or the shared key when too many subjects are tracked. */
  #keyOf(subject: string, now: number): string {
    if (this.#lines.has(subject) || this.#lines.size < MAX_TRACKED_KEYS) {
      return subject;
    }
    for (const [known, line] of this.#lines) {
      if (now - line.at < SUMMARY_INTERVAL_MS) break;
      this.#lines.delete(known);
      this.#summarize(line);
    }
    return this.#lines.size < MAX_TRACKED_KEYS ? subject : OTHERS_KEY;
  }

  #summarize({ last, omitted }: Line<T>): void {
    if (last !== undefined) this.#write(last, omitted - 1);
  }
}

const OTHERS_KEY = "others";
