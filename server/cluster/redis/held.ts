import type { Buffer } from "node:buffer";
import { withTimeout } from "../../../shared/async.ts";
import type { Client } from "./library.ts";
import type { Reply } from "./redis.ts";
import { type Address, written } from "./url.ts";

/** How long an answer may take until it counts as missing. */
export const ANSWER_TIMEOUT_MS = 1000;

/** So many checks in a row without an answer: the connection is given up. */
const MOST_UNANSWERED = 5;

/** A connection to a server, with what is known of it. */
export class Held {
  /** Its address, for people and as a key. */
  readonly place: string;
  /** When it was made, as `performance.now()` says it. */
  readonly since: number = performance.now();
  /** The connection. */
  readonly client: Client;
  #unanswered = 0;
  #isParked = false;

  constructor(address: Address, client: Client) {
    this.place = written(address);
    this.client = client;
  }

  /** Asks, and waits for a bounded time. */
  ask(command: readonly string[]): Promise<Reply> {
    return withTimeout(
      ANSWER_TIMEOUT_MS,
      () => this.client.sendCommand<Reply>(command),
      { error: () => noAnswer(this.place) },
    );
  }

  /**
   * Subscribes to a channel, and waits for a bounded time.
   *
   * @param lose is called when a Redis Cluster gives the channel to another server
   */
  subscribe(
    channel: string,
    receive: (message: Buffer) => void,
    sharded: boolean,
    lose: (reason: Error) => void,
  ): Promise<void> {
    this.client.once("sharded-channel-moved", () => {
      lose(new Error(`Redis at ${this.place} has given ${channel} away`));
    });
    const take = (message: Buffer) => {
      if (!this.#isParked) receive(message);
    };
    const subscribe = sharded
      ? () => this.client.sSubscribe(channel, take, true)
      : () => this.client.subscribe(channel, take, true);
    return withTimeout(ANSWER_TIMEOUT_MS, subscribe, {
      error: () => noAnswer(this.place),
    });
  }

  /**
   * Checks that this server takes writes.
   *
   * @throws {Error} when it does not, or does not answer
   */
  async requireMaster(): Promise<void> {
    if (isMaster(await this.ask(["ROLE"]))) return;
    throw new Error(`Redis at ${this.place} is a replica now`);
  }

  /**
   * Asks for a sign of life, and calls back when there was none for a while, or it is a replica now.
   *
   * It counts questions, not time: a process that was frozen finds the answers only after its timers.
   */
  check(isFixed: boolean, lose: (reason: Error) => void): void {
    if (this.#unanswered >= MOST_UNANSWERED) {
      lose(noAnswer(this.place));
      return;
    }
    if (this.#unanswered++ > 0) return;
    const answered = (reply?: Reply) => {
      this.#unanswered = 0;
      if (reply === undefined || isFixed || isMaster(reply)) return;
      lose(new Error(`Redis at ${this.place} is a replica now`));
    };
    // What fails with the connection is told by the connection.
    this.client.sendCommand<Reply>([isFixed ? "PING" : "ROLE"])
      .then(answered, () => answered());
  }

  /**
   * Gives the subscription up without ending its connection: nothing of it is received any more.
   *
   * Redis counts this process among the receivers as long as the connection stands.
   */
  park(): void {
    this.#isParked = true;
  }

  /** Ends the connection. */
  end(): void {
    this.client.destroy();
  }
}

const isMaster = (role: Reply): boolean =>
  Array.isArray(role) && role[0] === "master";

/** The error for a server that is silent. */
export const noAnswer = (place: string): Error =>
  new Error(`Redis at ${place} does not answer in time`);
