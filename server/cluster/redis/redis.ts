import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

/** A script of Redis, as text. */
export interface Script {
  /** The Lua code. */
  readonly source: string;
  /** Its SHA-1, by which Redis knows it after the first call. */
  readonly sha: string;
}

/** Makes a script of its text. */
export const newScript = (source: string): Script => ({
  source,
  sha: createHash("sha1").update(source).digest("hex"),
});

/** What a script answers: strings, whole numbers, and lists of them. */
export type Reply = string | number | null | readonly Reply[];

/** There is no connection to the server that is needed: nothing was sent. */
export class NotConnectedError extends Error {}

/** Redis, as the nodes of a cluster use it; commands wait for no connection, they fail. */
export interface Redis extends AsyncDisposable {
  /** What this is, for people, without a password. */
  readonly place: string;
  /** Whether commands, and messages to the subscription, pass now. */
  readonly connected: boolean;
  /**
   * When the youngest of the connections was made, as `performance.now()` says it; `undefined` while
   * one of them is missing. Just after a new one others may not have subscribed again yet.
   */
  readonly since: number | undefined;
  /**
   * Runs a script, atomically; all keys have one hash tag.
   *
   * @throws {NotConnectedError} when it was not sent
   * @throws {Error} when it failed, or was not answered within a second: then it may have run
   */
  run(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<Reply>;
  /**
   * Sends a message to all who subscribe to a channel, in order of the calls.
   *
   * It has no deadline of its own: a connection that does not answer for 5 seconds is given up.
   *
   * @returns how many have received it
   */
  publish(channel: string, message: Buffer): Promise<number>;
  /**
   * Subscribes to the one channel of this process; after a lost connection again, by itself.
   *
   * @param receive takes the messages; a message is a part of a larger buffer. It must not throw
   */
  subscribe(
    channel: string,
    receive: (message: Buffer) => void,
  ): Promise<void>;
  /** Returns how many subscribe to each of the channels. */
  numsub(channels: readonly string[]): Promise<readonly number[]>;
  /**
   * Calls back when `connected` or `since` changed: each new connection counts, since messages may be
   * missing.
   *
   * @returns stops
   */
  onState(listener: (isConnected: boolean) => void): () => void;
  /** Closes the connections. */
  close(): Promise<void>;
}
