import type { ProtocolError } from "../../protocol/mod.ts";
import { audit, type AuditEvent, type AuditParty } from "../shared/audit.ts";
import { addressGroup } from "./client_address.ts";
import { labelOf, type LimitName, type Limits, overLimit } from "./limits.ts";
import { LogThrottle } from "./log_throttle.ts";

/** Who is over a limit; before a session is open only the address is known. */
export type LimitSubject = Pick<AuditParty, "address"> & Partial<AuditParty>;

/** A handshake that was refused. */
export interface RefusedHandshake {
  /** Of the flat error that the client hears; below 10 it is Engine.IO's own. */
  readonly code: number;
  /** Why, for the operator. */
  readonly reason: string;
  /** Where it came from. */
  readonly address: string;
}

/** A client that got no TLS connection. */
export interface TlsFailure {
  /** Which side misses what. */
  readonly reason: string;
  /** Where it came from. */
  readonly address: string;
}

/** What a flood may come of. */
type Flooding = Extract<
  AuditEvent,
  { event: "handshake_refused" | "limit_hit" | "packet_refused" | "tls_failed" }
>;

/**
 * What a server allows, and what becomes known of those who want more, or something else: every hit
 * is counted, a flood of them is one line of the audit log in ten seconds.
 */
export class Limiter {
  /** What is allowed. */
  readonly limits: Limits;
  readonly #count: (limit: LimitName) => void;
  readonly #lines = new LogThrottle<Flooding>((event, omitted) =>
    audit(omitted > 0 ? { ...event, omitted } : event)
  );

  /** @param count told of every hit, however many there are */
  constructor(limits: Limits, count: (limit: LimitName) => void) {
    this.limits = limits;
    this.#count = count;
  }

  /** Takes note of one hit, and makes what its client hears. */
  refuse(
    limit: Parameters<typeof overLimit>[1],
    offender: LimitSubject,
  ): ProtocolError {
    this.hit(limit, offender);
    return overLimit(this.limits, limit);
  }

  /**
   * Takes note of one hit.
   *
   * @param now milliseconds of a clock that never goes back
   * @returns whether it was written to the log
   */
  hit(
    limit: LimitName,
    offender: LimitSubject,
    now: number = performance.now(),
  ): boolean {
    this.#count(limit);
    return this.#write(
      { event: "limit_hit", limit: labelOf(limit), ...offender },
      limit,
      now,
    );
  }

  /**
   * Takes note of a refused handshake; those of one address, code and reason are one thing, whatever
   * a reason quotes: that is often the client's choice.
   *
   * @param now as in {@linkcode hit}
   * @returns whether it was written to the log
   */
  refusedHandshake(
    refused: RefusedHandshake,
    now: number = performance.now(),
  ): boolean {
    return this.#write(
      { event: "handshake_refused", ...refused },
      `${refused.code} ${refused.reason.replaceAll(QUOTED_TEXT, "")}`,
      now,
    );
  }

  /**
   * Takes note of a session that was closed for a packet.
   *
   * @param now as in {@linkcode hit}
   * @returns whether it was written to the log
   */
  refusedPacket(
    refused: AuditParty & { readonly reason: string },
    now: number = performance.now(),
  ): boolean {
    return this.#write({ event: "packet_refused", ...refused }, "packet", now);
  }

  /**
   * Takes note of a TLS handshake that failed.
   *
   * @param now as in {@linkcode hit}
   * @returns whether it was written to the log
   */
  failedTls(failure: TlsFailure, now: number = performance.now()): boolean {
    return this.#write(
      { event: "tls_failed", ...failure },
      `tls ${failure.reason}`,
      now,
    );
  }

  /** Writes what was left out of the log and not told yet: nothing more will come. */
  flush(): void {
    this.#lines.flush();
  }

  #write(event: Flooding, kind: string, now: number): boolean {
    return this.#lines.take(
      `${kind} ${addressGroup(event.address)}`,
      event,
      now,
    );
  }
}

/** A text in JSON's quotes. */
const QUOTED_TEXT = /"(?:[^"\\]|\\.)*"/g;
