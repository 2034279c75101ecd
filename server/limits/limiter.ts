import type { ProtocolError } from "../../protocol/mod.ts";
import { audit, type AuditParty } from "../audit.ts";
import { labelOf, type LimitName, type Limits, overLimit } from "./limits.ts";

/** Who is over a limit; before a session is open only the address is known. */
export type Offender = Pick<AuditParty, "address"> & Partial<AuditParty>;

/** Milliseconds between two lines about the same address and limit. */
const QUIET = 10_000;

/** So many addresses are remembered; a scan from more costs lines, never memory. */
const REMEMBERED = 1000;

/** What a server allows, and what becomes known of those who want more: every hit is counted, a flood of them is one line of the audit log. */
export class Limiter {
  /** What is allowed. */
  readonly limits: Limits;
  readonly #count: (limit: LimitName) => void;
  readonly #written = new Map<string, number>();

  /** @param count told of every hit, however many there are */
  constructor(limits: Limits, count: (limit: LimitName) => void) {
    this.limits = limits;
    this.#count = count;
  }

  /** Takes note of one hit, and makes what its client hears. */
  refuse(
    limit: Parameters<typeof overLimit>[1],
    offender: Offender,
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
    offender: Offender,
    now: number = performance.now(),
  ): boolean {
    this.#count(limit);
    const key = `${limit} ${offender.address}`;
    const last = this.#written.get(key);
    if (last !== undefined && now - last < QUIET) return false;
    if (this.#written.size >= REMEMBERED) this.#written.clear();
    this.#written.set(key, now);
    audit({ event: "limit_hit", limit: labelOf(limit), ...offender });
    return true;
  }
}
