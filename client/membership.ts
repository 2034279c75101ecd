/**
 * Joining, leaving and rejoining an office.
 *
 * The ack of a join or leave is handled synchronously, since requests of the office may directly follow
 * it. Joins that a leave has overtaken are taken back.
 *
 * @module
 */
import { JOIN_OFFICE_EVENT, LEAVE_OFFICE_EVENT } from "../protocol/events.ts";
import { readOfficeAck, type Role } from "../protocol/payloads/offices.ts";
import { Retry } from "./wire.ts";
import { HANDSHAKE_TIMEOUT_MS } from "./socket_wire.ts";
import { ConnectionError } from "./errors.ts";
import type { ConnectionEvents, RequestOptions } from "./options.ts";

/** The connection that {@linkcode Membership} uses. */
interface MembershipConnection {
  /** Sends a request; calls `onAck` synchronously with its ack, before the promise resolves. */
  ask(
    event: string,
    payload: object,
    options: RequestOptions,
    onAck: (args: unknown[]) => void,
  ): Promise<unknown[]>;
  /** Sends without waiting. */
  send(event: string, payload: object): void;
  /** Returns further fields of a join. */
  joinFields(): object;
  /** Called when this client has become a member. */
  joined(joined: ConnectionEvents["joined"]): void;
  /** Called when a rejoin failed and will be tried again. */
  failed(failed: ConnectionEvents["rejoinFailed"]): void;
}

/** The office of a client, rejoined after each reconnect (protocol §5, §9). */
export class Membership {
  readonly #who: { role: Role; name: string };
  readonly #connection: MembershipConnection;
  /** The office that this client is in, or rejoins. */
  office: string | undefined;
  /** Whether this client is currently a member of its office. */
  joined = false;
  /** Counts calls of `leave`, which cancel pending joins. */
  #leaves = 0;
  /** Offices of pending joins. */
  readonly #asking = new Set<string>();
  readonly #retry = new Retry();

  constructor(
    who: { role: Role; name: string },
    connection: MembershipConnection,
  ) {
    this.#who = who;
    this.#connection = connection;
  }

  /** Joins an office, which `restore` then rejoins. */
  async join(office: string): Promise<void> {
    // A pending rejoin of another office must not interfere.
    const wasRejoining = this.#retry.isPending;
    this.#retry.reset();
    const leaves = this.#leaves;
    try {
      await this.#askToJoin(office, () => {
        if (this.#leaves !== leaves) return this.#leaveSilently(office);
        this.#retry.reset(); // a rejoin of another office may have been scheduled meanwhile
        this.office = office;
        this.joined = true;
        this.#connection.joined({ office, rejoined: false });
      });
    } catch (error) {
      if (wasRejoining) this.restore();
      throw error;
    }
    if (this.#leaves !== leaves) {
      throw new ConnectionError("refused", "Left before the join was done");
    }
  }

  /** Whether the Server may hold a seat for this client. */
  get mayBeSeated(): boolean {
    return this.joined || this.#asking.size > 0;
  }

  /**
   * Leaves; resolves when the seat is free. Sends nothing if the Server cannot hold a seat.
   *
   * If the Server refuses, this client is still in its office.
   *
   * @param timeoutMs time limit for the Server's answer
   */
  async leave(timeoutMs: number = HANDSHAKE_TIMEOUT_MS): Promise<void> {
    const office = this.office;
    const wasMember = this.joined;
    const asking = [...this.#asking];
    this.#leaves++;
    this.forget();
    // When the Server handles this, pending joins have taken effect or were refused.
    for (const office of asking) {
      if (await this.#tryToLeave(office, timeoutMs)) return;
    }
    if (office === undefined || !wasMember) return;
    const leaves = this.#leaves;
    const refused = () => {
      if (this.#leaves !== leaves || this.office !== undefined) return;
      this.office = office;
      this.joined = true;
    };
    const payload = { office_id: office };
    await this.#ask(LEAVE_OFFICE_EVENT, payload, { refused, timeoutMs });
  }

  /** Rejoins the office, if any; call it after a reconnect. */
  restore(): void {
    if (this.office !== undefined && !this.joined) {
      this.#rejoin(this.office);
    }
  }

  /** Notes that the connection is lost, which the Server treats as leaving. */
  lost(): void {
    this.joined = false;
    this.#retry.reset();
  }

  /** Forgets the office, so that it is not rejoined. */
  forget(): void {
    this.lost();
    this.office = undefined;
  }

  async #rejoin(office: string): Promise<void> {
    try {
      await this.#askToJoin(office, () => {
        if (this.office !== office) return this.#leaveSilently(office); // left meanwhile
        this.joined = true;
        this.#connection.joined({ office, rejoined: true });
      });
    } catch (error) {
      const refused = error instanceof ConnectionError &&
        ["refused", "timeout"].includes(error.code);
      if (!refused || this.office !== office) return; // lost again, or left
      const retryInMs = this.#retry.later(() => this.#rejoin(office));
      this.#connection.failed({ office, reason: error.message, retryInMs });
    }
  }

  /** Leaves an office whose join succeeded too late. */
  #leaveSilently(office: string): void {
    this.#connection.send(LEAVE_OFFICE_EVENT, { office_id: office });
  }

  /** @param accepted called synchronously, since requests of the new office may directly follow the ack */
  async #askToJoin(office: string, accepted: () => void): Promise<void> {
    const { role, name } = this.#who;
    this.#asking.add(office);
    try {
      await this.#ask(
        JOIN_OFFICE_EVENT,
        { role, name, office_id: office, ...this.#connection.joinFields() },
        { accepted },
      );
    } catch (error) {
      // The join may still succeed, and would leave this client a member.
      if (isTimeout(error) && !this.joined) this.#leaveSilently(office);
      throw error;
    } finally {
      this.#asking.delete(office);
    }
  }

  /** @returns whether this client was in the office */
  async #tryToLeave(office: string, timeoutMs: number): Promise<boolean> {
    let wasIn = true;
    const refused = () => void (wasIn = false);
    const payload = { office_id: office };
    try {
      await this.#ask(LEAVE_OFFICE_EVENT, payload, { refused, timeoutMs });
    } catch (error) {
      if (wasIn) throw error;
    }
    return wasIn;
  }

  async #ask(
    event: string,
    payload: object,
    { accepted, refused, timeoutMs = HANDSHAKE_TIMEOUT_MS }: Asking,
  ): Promise<void> {
    const args = await this.#connection.ask(
      event,
      payload,
      { timeoutMs },
      (args) => readOfficeAck(args)[0] ? accepted?.() : refused?.(),
    );
    const [ok, reason] = readOfficeAck(args);
    if (!ok) throw new ConnectionError("refused", reason);
  }
}

/** What follows the ack of a request, synchronously, and how long it is awaited. */
interface Asking {
  readonly accepted?: () => void;
  readonly refused?: () => void;
  readonly timeoutMs?: number;
}

const isTimeout = (error: unknown): boolean =>
  error instanceof ConnectionError && error.code === "timeout";
