import type { AuditSeat } from "../shared/audit.ts";

/** A seat that may not be taken for now. */
interface Bar {
  readonly reason: string;
  readonly until: number;
}

/**
 * The seats that operators keep closed for a while, after they have put their holders out: clients come
 * back by themselves, and the answer to their next join is what tells them why.
 */
export class Bars {
  readonly #bars = new Map<string, Bar>();

  /**
   * Keeps a seat closed.
   *
   * @param reason what those are told who ask for it
   * @param until milliseconds since 1970
   * @param now likewise
   */
  add(seat: AuditSeat, reason: string, until: number, now: number): void {
    for (const [key, bar] of this.#bars) {
      if (bar.until <= now) this.#bars.delete(key);
    }
    if (until > now) this.#bars.set(keyOf(seat), { reason, until });
  }

  /**
   * Returns why a seat may not be taken; `undefined` when it may.
   *
   * @param now milliseconds since 1970
   */
  reasonFor(seat: AuditSeat, now: number): string | undefined {
    if (this.#bars.size === 0) return undefined;
    const bar = this.#bars.get(keyOf(seat));
    return bar && bar.until > now ? bar.reason : undefined;
  }
}

const keyOf = ({ office, role, name }: AuditSeat): string =>
  JSON.stringify([office, role, name]);
