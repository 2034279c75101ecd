import { JOIN_OFFICE_EVENT, LEAVE_OFFICE_EVENT } from "../protocol/events.ts";
import { readOfficeAck, type Role } from "../protocol/payloads/offices.ts";
import { backoff } from "./backoff.ts";
import { HANDSHAKE_TIMEOUT_MS } from "./dial.ts";
import { ConnectionError } from "./errors.ts";
import type { ConnectionEvents, RequestOptions } from "./options.ts";

/** What membership needs of the connection. */
export interface MembershipLine {
  /** Sends a request; `heard` is called with its ack at once, before the promise resolves. */
  ask(
    event: string,
    payload: object,
    options: RequestOptions,
    heard: (args: unknown[]) => void,
  ): Promise<unknown[]>;
  /** Sends without waiting. */
  send(event: string, payload: object): void;
  /** This client is a member now. */
  joined(joined: ConnectionEvents["joined"]): void;
  /** It was not let back in; it asks again. */
  failed(failed: ConnectionEvents["rejoin_failed"]): void;
}

/** The office of a client, rejoined after each reconnect (spec §5, §9). */
export class Membership {
  readonly #who: { role: Role; name: string };
  readonly #line: MembershipLine;
  #office: string | undefined;
  #joined = false;
  /** Counts calls of `leave`, which cancel pending joins. */
  #leaves = 0;
  /** Offices that the Server was asked to let this client into, and has not answered yet. */
  readonly #asking = new Set<string>();
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(who: { role: Role; name: string }, line: MembershipLine) {
    this.#who = who;
    this.#line = line;
  }

  /** The office that this client is in, or rejoins. */
  get office(): string | undefined {
    return this.#office;
  }

  /** Whether the Server counts this client as a member right now. */
  get joined(): boolean {
    return this.#joined;
  }

  /** Joins; from then on `restore` goes back to this office. */
  async join(office: string): Promise<void> {
    // The way back to another office must not cross this one.
    const wayBack = this.#retry;
    this.#stopRetry();
    const leaves = this.#leaves;
    try {
      await this.#askToJoin(office, () => {
        if (this.#leaves !== leaves) return this.#giveUp(office);
        this.#stopRetry(); // another office may have refused this client meanwhile
        this.#office = office;
        this.#joined = true;
        this.#line.joined({ office, rejoined: false });
      });
    } catch (error) {
      if (wayBack !== undefined) this.restore();
      throw error;
    }
    if (this.#leaves !== leaves) {
      throw new ConnectionError("refused", "Left before the join was done");
    }
  }

  /** Whether the Server may hold a seat for this client. */
  get mayBeSeated(): boolean {
    return this.#joined || this.#asking.size > 0;
  }

  /**
   * Leaves; resolves when the seat is free. Where the Server cannot hold one there is nothing to ask.
   *
   * A refused leave changes nothing: this client is still in its office.
   *
   * @param timeoutMs how long the Server may take for it
   */
  async leave(timeoutMs: number = HANDSHAKE_TIMEOUT_MS): Promise<void> {
    const office = this.#office;
    const wasMember = this.#joined;
    const asking = [...this.#asking];
    this.#leaves++;
    this.forget();
    // A join that is on its way took effect before this is read, or was refused.
    for (const office of asking) {
      if (await this.#tryToLeave(office, timeoutMs)) return;
    }
    if (office === undefined || !wasMember) return;
    const leaves = this.#leaves;
    const refused = () => {
      if (this.#leaves !== leaves || this.#office !== undefined) return;
      this.#office = office;
      this.#joined = true;
    };
    const left = () => {};
    await this.#ask(
      LEAVE_OFFICE_EVENT,
      { office_id: office },
      left,
      refused,
      timeoutMs,
    );
  }

  /** The connection is there again: goes back to the office, if any. */
  restore(): void {
    if (this.#office !== undefined && !this.#joined) {
      this.#rejoin(this.#office, 0);
    }
  }

  /** The connection is gone, which counts as leaving at the Server. */
  lost(): void {
    this.#joined = false;
    this.#stopRetry();
  }

  /** There is no office to go back to any more. */
  forget(): void {
    this.lost();
    this.#office = undefined;
  }

  async #rejoin(office: string, attempt: number): Promise<void> {
    try {
      await this.#askToJoin(office, () => {
        if (this.#office !== office) return this.#giveUp(office); // left meanwhile
        this.#joined = true;
        this.#line.joined({ office, rejoined: true });
      });
    } catch (error) {
      const refused = error instanceof ConnectionError &&
        ["refused", "timeout"].includes(error.code);
      if (!refused || this.#office !== office) return; // lost again, or left
      const retryIn = backoff(attempt, Math.random());
      this.#line.failed({ office, reason: error.message, retryIn });
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.#rejoin(office, attempt + 1);
      }, retryIn);
    }
  }

  #stopRetry(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  /** Leaves an office that lets this client in too late. */
  #giveUp(office: string): void {
    this.#line.send(LEAVE_OFFICE_EVENT, { office_id: office });
  }

  /** @param accepted called at once: requests of the new office can be right behind the ack */
  async #askToJoin(office: string, accepted: () => void): Promise<void> {
    const { role, name } = this.#who;
    this.#asking.add(office);
    try {
      await this.#ask(
        JOIN_OFFICE_EVENT,
        { role, name, office_id: office },
        accepted,
      );
    } catch (error) {
      // The Server may still let it in, and would then count it as a member.
      if (isTimeout(error) && !this.#joined) this.#giveUp(office);
      throw error;
    } finally {
      this.#asking.delete(office);
    }
  }

  /** @returns whether this client was in that office */
  async #tryToLeave(office: string, timeoutMs: number): Promise<boolean> {
    let wasIn = true;
    const refused = () => void (wasIn = false);
    const left = () => {};
    try {
      await this.#ask(
        LEAVE_OFFICE_EVENT,
        { office_id: office },
        left,
        refused,
        timeoutMs,
      );
    } catch (error) {
      if (wasIn) throw error;
    }
    return wasIn;
  }

  async #ask(
    event: string,
    payload: object,
    accepted: () => void,
    refused?: () => void,
    timeoutMs: number = HANDSHAKE_TIMEOUT_MS,
  ): Promise<void> {
    const args = await this.#line.ask(
      event,
      payload,
      { timeoutMs },
      (args) => readOfficeAck(args)[0] ? accepted() : refused?.(),
    );
    const [ok, reason] = readOfficeAck(args);
    if (!ok) throw new ConnectionError("refused", reason);
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof ConnectionError && error.code === "timeout";
