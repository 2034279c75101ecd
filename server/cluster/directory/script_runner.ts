import { sleep } from "../../../shared/async.ts";
import { log } from "../../shared/log.ts";
import {
  NotConnectedError,
  type Redis,
  type Reply,
  type Script,
} from "../redis/redis.ts";
import { ROUTING_KEY } from "./prelude.ts";
import { listOf } from "./replies.ts";
import { RegistryUnavailableError } from "./unavailable.ts";

/** When it is asked again whether seats are settled: at first soon, later not so often. */
const FIRST_RETRY_MS = 20;
const MAX_RETRY_MS = 250;

/** Runs the scripts of one node, with what all of them are told. */
export class ScriptRunner {
  readonly #redis: Redis;
  readonly #node: string;
  readonly #patienceMs: number;
  readonly #closing = new AbortController();
  #epoch = "";
  #floor = 0;
  #isRefused = false;

  /** @param patienceMs for how long it is asked again */
  constructor(redis: Redis, node: string, patienceMs: number) {
    this.#redis = redis;
    this.#node = node;
    this.#patienceMs = patienceMs;
  }

  /** The data that this node knows; another epoch means that they were lost. */
  set epoch(epoch: string) {
    this.#epoch = epoch;
  }

  /** Is aborted when the node leaves. */
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  /** Notes a step of the history: Redis goes on from the largest. */
  saw(rev: number): void {
    if (rev > this.#floor) this.#floor = rev;
  }

  /**
   * Runs a script.
   *
   * @throws {RegistryUnavailableError} when it was not answered
   */
  async run(script: Script, ...args: readonly string[]): Promise<Reply> {
    const all = [this.#node, this.#epoch, String(this.#floor), ...args];
    let reply: Reply;
    try {
      reply = await this.#redis.run(script, [ROUTING_KEY], all);
    } catch (error) {
      const wasSent = !(error instanceof NotConnectedError);
      if (isRefusal(error)) this.#failed(error); // else beats fail too, and the node says it
      throw new RegistryUnavailableError(wasSent, error);
    }
    if (this.#isRefused) {
      this.#isRefused = false;
      log.info("Redis at {place} does again what this node asks", {
        place: this.#redis.place,
      });
    }
    return reply;
  }

  /**
   * Runs a script that answers a state first; asks again while the data is not complete.
   *
   * @throws {RegistryUnavailableError} also where the lease of this node has ended
   */
  async ask(script: Script, ...args: readonly string[]): Promise<Answer> {
    const end = performance.now() + this.#patienceMs;
    for (
      let delay = FIRST_RETRY_MS;;
      delay = Math.min(2 * delay, MAX_RETRY_MS)
    ) {
      const [state, ...rest] = listOf(await this.run(script, ...args));
      if (state === "REAPED") throw new RegistryUnavailableError(false);
      if (state !== "EMPTIED" && state !== "WAIT") {
        return { state: String(state), rest };
      }
      if (performance.now() >= end) throw new RegistryUnavailableError(false);
      await sleep(delay, this.signal).catch(() => {
        throw new RegistryUnavailableError(false);
      });
    }
  }

  /** Ends what waits. */
  close(): void {
    this.#closing.abort();
  }

  #failed(error: unknown): void {
    if (this.#isRefused || this.signal.aborted) return;
    this.#isRefused = true;
    log.warn(
      "Redis at {place} refuses what this node asks, look into its memory and its access list: {reason}",
      { place: this.#redis.place, reason: String(error) },
    );
  }
}

/** An answer that says no begins with its code. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && /^[A-Z]{2,} /.test(error.message);

/** What a script answers, after a state. */
export interface Answer {
  readonly state: string;
  readonly rest: readonly Reply[];
}
