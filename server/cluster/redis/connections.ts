import type { Buffer } from "node:buffer";
import { sleep } from "../../../shared/async.ts";
import { Held } from "./held.ts";
import type { Client } from "./library.ts";
import { NotConnectedError, type Reply } from "./redis.ts";
import type { Asker, Topology } from "./topology.ts";
import { type Address, written } from "./url.ts";

/** Connects to servers. */
export interface Dialer {
  /** Connects to a server of data. */
  server(address: Address, onLost: (reason: Error) => void): Promise<Client>;
  /** Asks a sentinel, and hangs up. */
  sentinel(address: Address, command: readonly string[]): Promise<Reply>;
}

/** The channel of this process. */
export interface Subscription {
  readonly channel: string;
  readonly receive: (message: Buffer) => void;
}

const CHECK_INTERVAL_MS = 1000;

/** Every how many checks it is asked whether another server takes the writes now. */
const CHECKS_PER_REFRESH = 5;

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 1000;

/**
 * Keeps a connection for commands to each server that takes writes, and one for the subscription.
 *
 * All of them are made by one loop, which asks anew where the servers are after each loss: with
 * sentinels or a Redis Cluster what was lost is likely somewhere else by then.
 */
export class Connections {
  readonly #topology: Topology;
  readonly #dialer: Dialer;
  readonly #changed: () => void;
  readonly #sharded: boolean;
  readonly #held = new Map<string, Held>();
  readonly #closing = new AbortController();
  #subscription: Subscription | undefined;
  #subscriber: Held | undefined;
  /**
   * Subscriptions that were silent, until there is another. To end one tells the others that this
   * process has ended, if only the answers of Redis are lost: it would be reaped while it serves.
   */
  readonly #parked = new Set<Held>();
  #repairing: Promise<void> | undefined;
  #isStale = false;
  #failure: Error | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #checks = 0;

  /**
   * @param sharded whether the subscription is of the sharded kind
   * @param changed is called when a connection was made or lost
   */
  constructor(
    topology: Topology,
    dialer: Dialer,
    sharded: boolean,
    changed: () => void,
  ) {
    this.#topology = topology;
    this.#dialer = dialer;
    this.#sharded = sharded;
    this.#changed = changed;
  }

  /** Makes the connections; fails when one cannot be made. */
  async start(): Promise<void> {
    await this.#makeAll();
    this.#timer = setInterval(() => this.#check(), CHECK_INTERVAL_MS);
  }

  /** Subscribes; fails when that is not possible now. */
  async subscribe(subscription: Subscription): Promise<void> {
    if (this.#subscription !== undefined) {
      throw new Error("A process has one channel, and has subscribed to it");
    }
    this.#subscription = subscription;
    await this.#repairing;
    if (this.#subscriber === undefined) await this.#makeAll();
  }

  /** Returns the connection for commands to the server that has a key. */
  client(key: string): Client {
    const address = this.#topology.owner(key);
    const held = address && this.#held.get(written(address));
    if (held !== undefined) return held.client;
    throw new NotConnectedError(
      `Redis cannot be reached: ${this.#failure?.message ?? "not connected"}`,
    );
  }

  /** The servers that take writes, to be asked. */
  servers(): readonly Held[] {
    return [...this.#held.values()];
  }

  /** When the youngest connection was made, where all are there. */
  get since(): number | undefined {
    let since = 0;
    for (const address of this.#topology.masters) {
      const held = this.#held.get(written(address));
      if (held === undefined) return undefined;
      since = Math.max(since, held.since);
    }
    if (this.#subscription === undefined) return since || undefined;
    return this.#subscriber && Math.max(since, this.#subscriber.since);
  }

  /** Looks anew where the servers are, and makes what is missing, as long as it takes. */
  repair(): void {
    this.#isStale = true;
    if (this.#closing.signal.aborted) return;
    this.#repairing ??= this.#repair().finally(() => {
      this.#repairing = undefined;
      if (this.#isStale) this.repair();
    });
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    this.#dropAll();
    await this.#repairing;
    // One may have been made meanwhile.
    this.#dropAll();
  }

  async #repair(): Promise<void> {
    const { signal } = this.#closing;
    for (let delay = FIRST_DELAY_MS; this.#isStale;) {
      this.#isStale = false;
      try {
        await this.#makeAll();
      } catch (error) {
        this.#failure = error instanceof Error
          ? error
          : new Error(String(error));
        this.#isStale = true;
        delay = Math.min(2 * delay, MAX_DELAY_MS);
        // Not all nodes at once.
        const jittered = delay * (0.5 + Math.random() / 2);
        await sleep(jittered, signal).catch(() => {});
      }
      if (signal.aborted) return;
    }
  }

  async #makeAll(): Promise<void> {
    await this.#topology.refresh(this.#asker);
    const { masters } = this.#topology;
    const wanted = new Set(masters.map(written));
    for (const [place, held] of this.#held) {
      if (!wanted.has(place)) this.#drop(held);
    }
    const made = await Promise.allSettled([
      ...masters.map((address) => this.#hold(address)),
      this.#subscribe(),
    ]);
    for (const outcome of made) {
      if (outcome.status === "rejected") throw outcome.reason;
    }
  }

  async #hold(address: Address): Promise<void> {
    const place = written(address);
    if (this.#held.has(place)) return;
    const held = await this.#open(address);
    this.#held.set(place, held);
    this.#changed();
  }

  async #subscribe(): Promise<void> {
    if (this.#subscription === undefined) return;
    const { channel, receive } = this.#subscription;
    const address = this.#topology.owner(channel);
    if (address === undefined) throw new Error(`Nobody has ${channel}`);
    if (this.#subscriber !== undefined) {
      if (this.#subscriber.place === written(address)) return;
      this.#drop(this.#subscriber);
    }
    const held = await this.#open(address);
    try {
      await held.subscribe(
        channel,
        receive,
        this.#sharded,
        (reason) => this.#lose(held, reason),
      );
    } catch (error) {
      held.end();
      throw error;
    }
    this.#subscriber = held;
    this.#endParked();
    this.#changed();
  }

  /** A loss before it is held fails what is asked of it first. */
  async #open(address: Address): Promise<Held> {
    this.#closing.signal.throwIfAborted();
    const held: Held = new Held(
      address,
      await this.#dialer.server(address, (reason) => this.#lose(held, reason)),
    );
    try {
      if (!this.#topology.isFixed) await held.requireMaster();
      this.#closing.signal.throwIfAborted();
    } catch (error) {
      held.end();
      throw error;
    }
    return held;
  }

  #lose(held: Held, reason: Error): void {
    if (!this.#isKnown(held)) return;
    this.#failure = reason;
    this.#drop(held);
    this.repair();
  }

  #isKnown(held: Held): boolean {
    return this.#subscriber === held || this.#held.get(held.place) === held;
  }

  #drop(held: Held): void {
    held.end();
    if (this.#subscriber === held) this.#subscriber = undefined;
    else if (this.#held.get(held.place) === held) this.#held.delete(held.place);
    else return;
    this.#changed();
  }

  /** Gives up a connection that is silent. */
  #leave(held: Held, reason: Error): void {
    if (this.#subscriber === held) {
      this.#subscriber = undefined;
      held.park();
      this.#parked.add(held);
      this.#failure = reason;
      this.#changed();
      this.repair();
    } else this.#lose(held, reason);
  }

  #endParked(): void {
    for (const held of this.#parked) held.end();
    this.#parked.clear();
  }

  #dropAll(): void {
    this.#endParked();
    for (const held of this.#all()) this.#drop(held);
  }

  #all(): Held[] {
    return [
      ...this.#held.values(),
      ...(this.#subscriber ? [this.#subscriber] : []),
    ];
  }

  #check(): void {
    for (const held of this.#all()) {
      held.check(this.#topology.isFixed, (reason) => this.#leave(held, reason));
    }
    if (this.#topology.isFixed) return;
    if (++this.#checks % CHECKS_PER_REFRESH === 0) this.repair();
  }

  readonly #asker: Asker = {
    reaches: (address) => this.#held.has(written(address)),
    server: async (address, command) => {
      const held = this.#held.get(written(address));
      if (held !== undefined) return await held.ask(command);
      const passing = new Held(
        address,
        await this.#dialer.server(address, () => {}),
      );
      try {
        return await passing.ask(command);
      } finally {
        passing.end();
      }
    },
    sentinel: (address, command) => this.#dialer.sentinel(address, command),
  };
}
