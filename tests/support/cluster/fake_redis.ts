import { Buffer } from "node:buffer";
import type { LinkRedis } from "../../../server/cluster/link.ts";

/** Pub/sub in memory, which may lose what is sent. */
export class FakeRedis {
  readonly #connections = new Set<FakeConnection>();
  /** Returns whether a message gets lost on its way, though Redis counts its receiver. */
  loses: (channel: string, message: Buffer) => boolean = () => false;
  /** How many messages were published. */
  published = 0;
  /** How often somebody asked for receivers. */
  looks = 0;
  /** The clock of connections. */
  now: () => number = () => performance.now();

  /** Makes the connection of a process. */
  connect(): FakeConnection {
    const connection = new FakeConnection(this);
    this.#connections.add(connection);
    return connection;
  }

  /** Cuts all off. */
  down(): void {
    for (const connection of this.#connections) connection.disconnect();
  }

  /** Lets all come back. */
  up(): void {
    for (const connection of this.#connections) connection.reconnect();
  }

  /** Hands a message over to those who subscribe, each in order; returns their number. */
  deliver(channel: string, message: Buffer): number {
    this.published++;
    const receivers = this.receivers(channel);
    if (this.loses(channel, message)) return receivers.length;
    for (const receiver of receivers) receiver.push(Buffer.from(message));
    return receivers.length;
  }

  /** Returns who subscribes to a channel. */
  receivers(channel: string): FakeConnection[] {
    return [...this.#connections].filter((each) => each.listensTo(channel));
  }
}

/** The connection of a process to {@linkcode FakeRedis}. */
export class FakeConnection implements LinkRedis {
  readonly #redis: FakeRedis;
  readonly #listeners = new Set<(isConnected: boolean) => void>();
  readonly #waiting: Buffer[] = [];
  readonly #held: (() => void)[] = [];
  #channel: string | undefined;
  #receive = (_message: Buffer) => {};
  #isFrozen = false;
  #isEnded = false;
  connected = true;
  since: number | undefined = -Infinity;

  constructor(redis: FakeRedis) {
    this.#redis = redis;
  }

  publish(channel: string, message: Buffer): Promise<number> {
    if (!this.connected) return Promise.reject(new Error("not connected"));
    const deliver = () => this.#redis.deliver(channel, message);
    if (!this.#isFrozen) return Promise.resolve(deliver());
    return new Promise((resolve) => this.#held.push(() => resolve(deliver())));
  }

  subscribe(
    channel: string,
    receive: (message: Buffer) => void,
  ): Promise<void> {
    this.#channel = channel;
    this.#receive = receive;
    return Promise.resolve();
  }

  numsub(channels: readonly string[]): Promise<readonly number[]> {
    if (!this.connected) return Promise.reject(new Error("not connected"));
    this.#redis.looks++;
    return Promise.resolve(
      channels.map((channel) => this.#redis.receivers(channel).length),
    );
  }

  onState(listener: (isConnected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Whether Redis would count it as a receiver. */
  listensTo(channel: string): boolean {
    return this.connected && !this.#isEnded && this.#channel === channel;
  }

  /** Takes a message in a later turn. */
  push(message: Buffer): void {
    this.#waiting.push(message);
    queueMicrotask(() => this.#next());
  }

  /** The process takes and sends nothing, but its connection stays. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** It goes on where it was. */
  thaw(): void {
    this.#isFrozen = false;
    for (const send of this.#held.splice(0)) send();
    while (this.#waiting.length > 0) this.#next();
  }

  /** The process ends: nothing comes from it any more. */
  end(): void {
    this.#isEnded = true;
    this.connected = false;
    this.since = undefined;
  }

  /** The connection is lost, with what is on its way. */
  disconnect(): void {
    if (this.#isEnded) return;
    this.connected = false;
    this.since = undefined;
    this.#waiting.length = 0;
    this.#tell();
  }

  /** The connection is made again. */
  reconnect(): void {
    if (this.#isEnded) return;
    this.connected = true;
    this.since = this.#redis.now();
    this.#tell();
  }

  #next(): void {
    if (this.#isFrozen || !this.connected) return;
    const message = this.#waiting.shift();
    if (message !== undefined) this.#receive(message);
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener(this.connected);
  }
}
