import { randomBytes } from "node:crypto";
import type { ProtocolName } from "../../../protocol/mod.ts";
import type { OfficeRegistry, Seat } from "../../offices/registry.ts";
import type { Redis, Reply } from "../redis/redis.ts";
import type { Beat, Directory, Seated } from "./directory.ts";
import { LEASE_TIMES, type LeaseTimes } from "./lease.ts";
import { OfficeSeats } from "./office_seats.ts";
import { listOf, pairsOf } from "./replies.ts";
import { ScriptRunner } from "./script_runner.ts";
import { BEAT, LEAVE, OWN, REAP, RESTORE } from "./scripts.ts";
import {
  claimKey,
  memberCode,
  officeCode,
  readSeat,
  readSeated,
  slotCode,
} from "./seat_code.ts";

/** How long free seats wait for those who had them, after lost data; asked for a little longer. */
const SETTLE_BEATS = 2;
const PATIENCE_MS = 1000;

/** A random id of a node, or of the data. */
const newId = (): string => randomBytes(12).toString("hex");

/** The {@linkcode Directory} in Redis. Its owner closes Redis. */
export class RedisDirectory implements Directory {
  /** This node. */
  readonly node: string = newId();
  readonly #runner: ScriptRunner;
  readonly #times: LeaseTimes;
  readonly #registries = new Map<ProtocolName, OfficeSeats>();
  /** Leaves that were told here, and that Redis still keeps for the case that they were not. */
  readonly #told = new Set<string>();

  /** @param times the same for all nodes of the cluster */
  constructor(redis: Redis, times: LeaseTimes = LEASE_TIMES) {
    this.#times = times;
    this.#runner = new ScriptRunner(
      redis,
      this.node,
      SETTLE_BEATS * times.beatMs + PATIENCE_MS,
    );
  }

  /** Returns the seats of the offices of one version. */
  registry(protocol: ProtocolName): OfficeRegistry {
    const known = this.#registries.get(protocol);
    if (known !== undefined) return known;
    const registry = new OfficeSeats(protocol, this.#runner);
    this.#registries.set(protocol, registry);
    return registry;
  }

  /** Renews the lease; the first one takes it. */
  async beat(about: string): Promise<Beat> {
    const { beatMs, leaseMs } = this.#times;
    const acknowledged = [...this.#told];
    const [state, ...rest] = listOf(
      await this.#runner.run(
        BEAT,
        newId(),
        String(leaseMs),
        String(SETTLE_BEATS * beatMs),
        about,
        ...acknowledged,
      ),
    );
    if (state === "REAPED") return { state: "reaped" };
    const [epoch, emptied, seats, rev, nodes, owed] = rest;
    for (const leave of acknowledged) this.#told.delete(leave);
    this.#runner.epoch = String(epoch);
    this.#runner.saw(Number(rev));
    return {
      state: "ok",
      emptied: emptied === 1,
      seats: Number(seats),
      nodes: new Map(pairsOf(listOf(nodes))),
      gone: this.#tell(owed, acknowledged),
    };
  }

  /** Frees the seats of a node whose process has ended, in steps. */
  async reap(node: string): Promise<readonly Seated<Seat>[]> {
    for (;;) {
      const { rest: [done, owed] } = await this.#runner.ask(REAP, node);
      // What an earlier step has freed is still among them.
      if (done === 1) return this.#tell(owed, []);
    }
  }

  /** Lists the seats of this node. */
  async own(): Promise<readonly Seated<Seat>[]> {
    const seats = new Map<string, Seated<Seat>>();
    let cursor = "0";
    do {
      const [next, page] = listOf(await this.#runner.run(OWN, cursor));
      for (const [place, code] of pairsOf(listOf(page))) {
        const seated = readSeated(place, code);
        if (seated !== undefined) seats.set(place, seated);
      }
      cursor = String(next);
    } while (cursor !== "0");
    return [...seats.values()];
  }

  /** Takes a seat again after the data was lost. */
  async restore(
    { protocol, member }: Seated<Seat>,
  ): Promise<Seat | undefined> {
    const slot = slotCode(member);
    this.#runner.saw(member.rev);
    const { state, rest: [code] } = await this.#runner.ask(
      RESTORE,
      officeCode(protocol, member.office),
      slot,
      member.socket,
      claimKey(member),
      String(member.rev),
      memberCode(member),
    );
    if (state === "TAKEN") return undefined;
    return readSeat(member.office, slot, String(code));
  }

  /** Gives up the lease. */
  async leave(): Promise<void> {
    await this.#runner.run(LEAVE, ...this.#told);
  }

  /** Ends what waits for Redis. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#runner.close();
    return Promise.resolve();
  }

  /** Leaves that were not told yet; an answer that is lost brings them again with the next beat. */
  #tell(
    owed: Reply | undefined,
    acknowledged: readonly string[],
  ): readonly Seated<Seat>[] {
    const known = new Set([...this.#told, ...acknowledged]);
    return pairsOf(listOf(owed)).flatMap(([leave, code]) => {
      if (known.has(leave)) return [];
      this.#told.add(leave);
      const seated = readSeated(leave, code);
      return seated === undefined ? [] : [seated];
    });
  }
}
