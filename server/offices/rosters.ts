import type { Seat } from "../shared/member.ts";
import { Roster } from "./roster.ts";

interface Held {
  readonly roster: Roster;
  /** Members of this node, and joins on their way. */
  users: number;
  /** Whether it has all seats of the office, of other nodes too. */
  complete: boolean;
}

/** The rosters of the offices that have members on this node. */
export class Rosters {
  readonly #offices = new Map<string, Held>();

  /**
   * Keeps the roster of an office from now on, so that no notice about it is missed; each call needs
   * one of {@linkcode Rosters.free}.
   */
  hold(office: string): Roster {
    const held = this.#offices.get(office) ??
      { roster: new Roster(), users: 0, complete: false };
    held.users++;
    this.#offices.set(office, held);
    return held.roster;
  }

  /** Forgets the roster of an office, if nobody else holds it. */
  free(office: string): void {
    const held = this.#offices.get(office);
    if (held && --held.users <= 0) this.#offices.delete(office);
  }

  /** Returns the roster of an office, if it is held. */
  get(office: string): Roster | undefined {
    return this.#offices.get(office)?.roster;
  }

  /** Returns whether the roster of an office has all of its seats. */
  isComplete(office: string): boolean {
    return this.#offices.get(office)?.complete ?? false;
  }

  /** Notes that the roster of an office has all of its seats. */
  completed(office: string): void {
    const held = this.#offices.get(office);
    if (held) held.complete = true;
  }

  /** Finds a Computer by its name, in this office only. */
  computer(office: string, name: string): Seat | undefined {
    return this.#offices.get(office)?.roster.computer(name);
  }

  /** Returns the offices whose rosters are held. */
  offices(): string[] {
    return [...this.#offices.keys()];
  }
}
