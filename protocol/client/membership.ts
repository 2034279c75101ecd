import { JOIN_OFFICE_EVENT, LEAVE_OFFICE_EVENT } from "../events.ts";
import { readOfficeAck, type Role } from "../offices.ts";
import { backoff } from "./backoff.ts";
import { PATIENCE } from "./dial.ts";
import { ConnectionError } from "./errors.ts";
import type { ConnectionEvents, RequestOptions } from "./options.ts";

/** What membership needs of the connection, and whom it tells. */
export interface MembershipLine {
  /** Sends a request; `heard` is called with its ack at once, before the promise resolves. */
  ask(
    event: string,
    payload: unknown,
    options: RequestOptions,
    heard: (args: unknown[]) => void,
  ): Promise<unknown[]>;
  /** Sends without waiting. */
  send(event: string, payload: unknown): void;
  /** This client is a member now. */
  joined(joined: ConnectionEvents["joined"]): void;
  /** It was not let back in; it asks again. */
  failed(failed: ConnectionEvents["rejoin_failed"]): void;
}

/** Which office a client is in, and its way back there after each reconnect (spec §5, §9). */
export class Membership {
  readonly #who: { role: Role; name: string };
  readonly #line: MembershipLine;
  #office: string | undefined;
  #joined = false;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(who: { role: Role; name: string }, line: MembershipLine) {
    this.#who = who;
    this.#line = line;
  }

  /** The office that this client is in, or goes back to. */
  get office(): string | undefined {
    return this.#office;
  }

  /** Whether the Server counts this client as a member right now. */
  get joined(): boolean {
    return this.#joined;
  }

  /** Joins; from then on `restore` goes back to this office. */
  async join(office: string): Promise<void> {
    await this.#askToJoin(office, () => {
      this.#office = office;
      this.#joined = true;
      this.#line.joined({ office, rejoined: false });
    });
  }

  /** Leaves; where the Server does not count this client as a member there is nothing to ask. */
  async leave(): Promise<void> {
    const office = this.#office;
    const wasMember = this.#joined;
    this.forget();
    if (office === undefined || !wasMember) return;
    await this.#ask(LEAVE_OFFICE_EVENT, { office_id: office }, () => {});
  }

  /** The connection is there again: goes back to the office, if any. */
  restore(): void {
    if (this.#office !== undefined) this.#rejoin(this.#office, 0);
  }

  /** The connection is gone, which counts as leaving at the Server. */
  lost(): void {
    this.#joined = false;
    clearTimeout(this.#retry);
  }

  /** There is no office to go back to any more. */
  forget(): void {
    this.lost();
    this.#office = undefined;
  }

  async #rejoin(office: string, attempt: number): Promise<void> {
    try {
      await this.#askToJoin(office, () => {
        if (this.#office !== office) { // left while the join was on its way
          this.#line.send(LEAVE_OFFICE_EVENT, { office_id: office });
          return;
        }
        this.#joined = true;
        this.#line.joined({ office, rejoined: true });
      });
    } catch (error) {
      const refused = error instanceof ConnectionError &&
        ["refused", "timeout"].includes(error.code);
      if (!refused || this.#office !== office) return; // lost again, or left
      const retryIn = backoff(attempt, Math.random());
      this.#line.failed({ office, reason: error.message, retryIn });
      this.#retry = setTimeout(
        () => this.#rejoin(office, attempt + 1),
        retryIn,
      );
    }
  }

  /** @param accepted called at once: requests of the new office can be right behind the ack */
  #askToJoin(office: string, accepted: () => void): Promise<void> {
    const { role, name } = this.#who;
    return this.#ask(
      JOIN_OFFICE_EVENT,
      { role, name, office_id: office },
      accepted,
    );
  }

  async #ask(
    event: string,
    payload: unknown,
    accepted: () => void,
  ): Promise<void> {
    const args = await this.#line.ask(
      event,
      payload,
      { timeoutMs: PATIENCE },
      (args) => readOfficeAck(args)[0] && accepted(),
    );
    const [ok, reason] = readOfficeAck(args);
    if (!ok) throw new ConnectionError("refused", reason);
  }
}
