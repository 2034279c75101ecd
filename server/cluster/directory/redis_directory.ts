import { randomBytes } from "node:crypto";
import { onAbort } from "../../../shared/async.ts";
import { log } from "../../shared/log.ts";
import {
  NotConnectedError,
  type Redis,
  type Reply,
  type Script,
} from "../redis/redis.ts";
import { type Clock, LEASE_MS, systemClock } from "./lease.ts";
import {
  type Beat,
  type Home,
  type LeasedDirectory,
  RegistryUnavailableError,
} from "./directory.ts";
import {
  BEAT,
  CLAIM,
  LEAVE,
  RELEASE,
  RESTORE,
  ROUTING_KEY,
} from "./scripts.ts";

/** When a claim asks again for a home that is not known yet: at first soon, later less often. */
const FIRST_RETRY_MS = 20;
const MAX_RETRY_MS = 250;

/** How much longer than a lease a claim waits until homes are known. */
const PATIENCE_MS = 1000;

/** How many homes one script takes again: more would hold Redis for too long. */
const RESTORE_STEP = 500;

/** What the directory needs of Redis. */
export type ScriptRedis = Pick<Redis, "place" | "run">;

/** A random id of a node, or of the data. */
const newId = (): string => randomBytes(12).toString("hex");

/**
 * The {@linkcode LeasedDirectory} in Redis. Its owner closes Redis.
 *
 * Claims are numbered, and each home in Redis has the number of its last claim: a release ends what was
 * claimed up to a number, so that one which arrives late, or is repeated, ends nothing that was claimed
 * since.
 */
export class RedisDirectory implements LeasedDirectory {
  /** This node. */
  readonly node: string = newId();
  readonly #redis: ScriptRedis;
  readonly #leaseMs: number;
  readonly #clock: Clock;
  readonly #homes = new Map<string, number>();
  /** Offices that are being claimed, each with the number of the last claim. */
  readonly #claiming = new Map<string, number>();
  /** Releases without an answer, by office, each with its number. */
  readonly #unreleased = new Map<string, number>();
  readonly #closing = new AbortController();
  #epoch = "";
  #claims = 0;
  #isRefused = false;

  /** @param leaseMs the same for all nodes of the cluster */
  constructor(
    redis: ScriptRedis,
    leaseMs: number = LEASE_MS,
    clock: Clock = systemClock,
  ) {
    this.#redis = redis;
    this.#leaseMs = leaseMs;
    this.#clock = clock;
  }

  /** The offices whose home is this node, with the numbers of their last claims. */
  get homes(): ReadonlyMap<string, number> {
    return this.#homes;
  }

  /** Asks Redis, again while it does not know all homes. */
  async claim(office: string): Promise<Home> {
    const end = this.#now + this.#leaseMs + PATIENCE_MS;
    let delay = FIRST_RETRY_MS;
    for (;;) {
      const home = await this.#claim(office);
      if (typeof home === "object") return home;
      if (home === "REAPED" || this.#now >= end) {
        throw new RegistryUnavailableError();
      }
      await this.#wait(delay);
      delay = Math.min(2 * delay, MAX_RETRY_MS);
    }
  }

  /**
   * Resolves also without an answer: then it is repeated with the next beats. It ends a home too that a
   * claim without an answer has got.
   */
  async release(office: string): Promise<void> {
    const number = this.#homes.get(office);
    this.#homes.delete(office);
    if (number === undefined && this.#claiming.has(office)) return;
    await this.#release(office, number ?? this.#claims);
  }

  /** Renews the lease; in a new epoch once all homes are taken again. */
  async beat(about: string): Promise<Beat> {
    const homes = this.#homes.size;
    const [state, epoch, settleMs, others, known] = listOf(
      await this.#run(BEAT, newId(), String(this.#leaseMs), about),
    );
    if (state === "REAPED") return { state: "reaped" };
    const isNew = epoch !== this.#epoch;
    // It has dropped some, as where its memory is full.
    const isLacking = !isNew && Number(known) < homes;
    const lost = isNew || isLacking ? await this.#restore(String(epoch)) : [];
    for (const release of [...this.#unreleased]) void this.#release(...release);
    return {
      state: "ok",
      nodes: pairsOf(listOf(others)),
      isNew: isNew || isLacking,
      isEmpty: isLacking || this.#epoch.endsWith(":empty"),
      settleMs: Number(settleMs),
      lost,
    };
  }

  /** Ends the lease. */
  async leave(): Promise<void> {
    this.#homes.clear();
    await this.#run(LEAVE);
  }

  /** Ends claims that wait. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    return Promise.resolve();
  }

  get #now(): number {
    return this.#clock.now().steady;
  }

  async #wait(milliseconds: number): Promise<void> {
    const { signal } = this.#closing;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(milliseconds, resolve);
    const off = onAbort(signal, resolve);
    await promise;
    cancel();
    off();
    if (signal.aborted) throw new RegistryUnavailableError();
  }

  /** @returns why there is no answer yet, or never */
  async #claim(office: string): Promise<Home | string> {
    const number = ++this.#claims;
    const epoch = this.#epoch;
    this.#claiming.set(office, number);
    const isHere = () =>
      this.#homes.set(
        office,
        Math.max(number, this.#homes.get(office) ?? number),
      );
    try {
      const reply = listOf(await this.#run(CLAIM, office, String(number)));
      const [state, node, leaseLeftMs] = reply;
      if (state !== "HOME") return String(state);
      // A new epoch has begun meanwhile, in which this claim was not made.
      if (epoch !== this.#epoch) return "STALE";
      if (node === this.node) isHere();
      return { node: String(node), leaseLeftMs: Number(leaseLeftMs) };
    } catch (error) {
      // It may have been done.
      if (this.#homes.has(office)) isHere();
      else if (wasSent(error)) this.#unreleased.set(office, number);
      throw error;
    } finally {
      if (this.#claiming.get(office) === number) this.#claiming.delete(office);
    }
  }

  async #release(office: string, number: number): Promise<void> {
    const isLast = () => number >= (this.#unreleased.get(office) ?? number);
    try {
      await this.#run(RELEASE, office, String(number));
      if (isLast()) this.#unreleased.delete(office);
    } catch {
      if (isLast()) this.#unreleased.set(office, number);
    }
  }

  /**
   * Takes all homes again, which others cannot have got: in a new epoch nobody gets one for a lease, and
   * by then this node serves no more unless this is done.
   *
   * @returns the offices whose home is elsewhere nevertheless: an other node has another lease
   */
  async #restore(epoch: string): Promise<readonly string[]> {
    const lost: string[] = [];
    const restored = new Set<string>();
    for (;;) {
      const offices = [...this.#homes.keys()]
        .filter((office) => !restored.has(office)).slice(0, RESTORE_STEP);
      if (offices.length === 0) break;
      const number = this.#claims;
      const [state, ...taken] = listOf(
        await this.#runIn(epoch, RESTORE, String(number), ...offices),
      );
      if (state !== "OK") throw new RegistryUnavailableError();
      for (const office of offices) {
        restored.add(office);
        if (this.#homes.has(office)) this.#homes.set(office, number);
      }
      for (const office of taken.map(String)) {
        this.#homes.delete(office);
        lost.push(office);
      }
    }
    this.#epoch = epoch;
    return lost;
  }

  #run(script: Script, ...args: readonly string[]): Promise<Reply> {
    return this.#runIn(this.#epoch, script, ...args);
  }

  async #runIn(
    epoch: string,
    script: Script,
    ...args: readonly string[]
  ): Promise<Reply> {
    let reply: Reply;
    try {
      reply = await this.#redis.run(
        script,
        [ROUTING_KEY],
        [this.node, epoch, ...args],
      );
    } catch (error) {
      this.#failed(error);
      throw new RegistryUnavailableError(error);
    }
    if (this.#isRefused) {
      this.#isRefused = false;
      log.info("Redis at {place} does again what this node asks", {
        place: this.#redis.place,
      });
    }
    return reply;
  }

  /** What fails without an answer fails beats too: the node logs it. */
  #failed(error: unknown): void {
    const isRefusal = error instanceof Error &&
      /^[A-Z]{2,} /.test(error.message);
    if (!isRefusal || this.#isRefused || this.#closing.signal.aborted) return;
    this.#isRefused = true;
    log.warn(
      "Redis at {place} refuses what this node asks, look into its memory and its access list: {reason}",
      { place: this.#redis.place, reason: String(error) },
    );
  }
}

const wasSent = (error: unknown): boolean =>
  !(error instanceof Error && error.cause instanceof NotConnectedError);

function listOf(reply: Reply | undefined): readonly Reply[] {
  if (Array.isArray(reply)) return reply;
  throw new TypeError(`Redis answers ${typeof reply} instead of a list`);
}

/** Reads a list in which names and values take turns. */
const pairsOf = (list: readonly Reply[]): ReadonlyMap<string, string> =>
  new Map(
    Array.from(
      { length: list.length / 2 },
      (_, index) => [String(list[2 * index]), String(list[2 * index + 1])],
    ),
  );
