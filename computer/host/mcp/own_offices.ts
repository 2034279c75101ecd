/**
 * The offices that a Computer is in, and whether an MCP server leads back to one of them: the Computer
 * would offer the office's tools to the office itself (protocol §15).
 *
 * @module
 */
import {
  OFFICES_KEY,
  readOffices,
} from "../../../protocol/payloads/request_meta.ts";

/** The most ids that are kept: an office gets another one where its Server or its Agent starts again. */
const MAX_KEPT = 16;

/** An MCP server leads back to an office that the Computer is in. */
export class LeadsBackError extends Error {
  /** Always `"LeadsBackError"`. */
  override readonly name = "LeadsBackError";

  /** Creates an error from the name of the office. */
  constructor(office: string) {
    super(
      `it leads back to the office ${
        JSON.stringify(office)
      }, which this Computer is in: the office would be offered its own tools, again and again; remove it from the configuration`,
    );
  }
}

/** The ids of the offices that a Computer is in, which it gets with requests of their Agents. */
export class OwnOffices {
  /** The name of each office by its id; the ids that came first are first. */
  readonly #names = new Map<string, string>();

  /** The ids. */
  get ids(): readonly string[] {
    return [...this.#names.keys()];
  }

  /**
   * Adds ids of an office.
   *
   * @returns whether one of them is new
   */
  add(ids: readonly string[], office: string): boolean {
    const before = new Set(this.#names.keys());
    for (const id of ids) this.#names.set(id, office);
    for (const oldest of this.#names.keys()) {
      if (this.#names.size <= MAX_KEPT) break;
      this.#names.delete(oldest);
    }
    return ids.some((id) => !before.has(id));
  }

  /** Forgets all, when the Computer leaves. */
  clear(): void {
    this.#names.clear();
  }

  /**
   * Checks the offices that an MCP server leads to.
   *
   * @throws {LeadsBackError} when the Computer is in one of them
   */
  check(offices: readonly string[]): void {
    for (const id of offices) {
      const office = this.#names.get(id);
      if (office !== undefined) throw new LeadsBackError(office);
    }
  }

  /** Returns the error in place of that of an office which refused the Computer for this reason. */
  explain(error: unknown): unknown {
    try {
      this.check(officesIn(error));
      return error;
    } catch (leadsBack) {
      return leadsBack;
    }
  }
}

/** The offices that the error of an MCP server names, or one of its causes. */
function officesIn(error: unknown): string[] {
  let cause = error;
  for (let depth = 0; depth < 10 && cause instanceof Error; depth++) {
    const data: unknown = "data" in cause ? cause.data : undefined;
    if (Object(data)[OFFICES_KEY] !== undefined) return readOffices(data);
    cause = cause.cause;
  }
  return [];
}
