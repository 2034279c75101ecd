import { sleep } from "../../../shared/async.ts";
import type { ProtocolName } from "../../../protocol/mod.ts";
import {
  type Joiner,
  judgeJoiner,
  officeFull,
  seatTaken,
} from "../../offices/join_rule.ts";
import type { Claim, OfficeRegistry, Seat } from "../../offices/registry.ts";
import type { Member } from "../../shared/member.ts";
import { seatsOf } from "./replies.ts";
import { CLAIM, CONFIRM, LIST, RELEASE, UNDO } from "./scripts.ts";
import type { Script } from "../redis/redis.ts";
import type { Answer, ScriptRunner } from "./script_runner.ts";
import {
  claimKey,
  memberCode,
  officeCode,
  readSeat,
  slotCode,
} from "./seat_code.ts";

import { RegistryUnavailableError } from "./unavailable.ts";

/** How long it takes until what became of a claim is told again, and again. */
const INSIST_DELAY_MS = 500;

/** The seats of the offices of one protocol version. */
export class OfficeSeats implements OfficeRegistry {
  readonly #protocol: ProtocolName;
  readonly #runner: ScriptRunner;
  #claims = 0;

  constructor(protocol: ProtocolName, runner: ScriptRunner) {
    this.#protocol = protocol;
    this.#runner = runner;
  }

  /** Asks Redis after all that the connection alone decides. */
  async claim(
    wanted: Member,
    joiner: Joiner,
    capacity: number = Infinity,
    withSeats: boolean = false,
  ): Promise<Claim> {
    const refused = judgeJoiner(wanted, joiner);
    if (refused !== undefined) return refused;
    const place = officeCode(this.#protocol, wanted.office);
    const slot = slotCode(wanted);
    // Another number each time: only this very claim is confirmed, or taken back.
    const claim = [place, slot, wanted.socket, String(++this.#claims)] as const;
    const { state, rest } = await this.#ask(
      claim,
      claimKey(wanted),
      String(Math.min(capacity, Number.MAX_SAFE_INTEGER)),
      memberCode(wanted),
      withSeats ? "1" : "",
    );
    if (state === "TAKEN") return seatTaken(wanted);
    if (state === "FULL") return officeFull();
    const [rev, evicted, ...seats] = rest;
    this.#runner.saw(Number(rev));
    const evict = evicted
      ? readSeat(wanted.office, slot, String(evicted))
      : undefined;
    if (evict !== undefined) {
      // Until then whoever wants to take it over in turn has to wait.
      void this.#insist(CONFIRM, claim);
    }
    return {
      kind: "admit",
      ...(joiner.member && { leave: joiner.member }),
      ...(evict && { evict }),
      rev: Number(rev),
      ...(withSeats && { seats: seatsOf(wanted.office, seats) }),
    };
  }

  /** Releases a seat of this node. */
  async release(member: Member): Promise<number> {
    const place = officeCode(this.#protocol, member.office);
    const rev = Number(
      await this.#runner.run(RELEASE, place, slotCode(member), member.socket),
    );
    this.#runner.saw(rev);
    return rev;
  }

  /** Lists the members of an office whose nodes live. */
  async list(office: string): Promise<readonly Seat[]> {
    const place = officeCode(this.#protocol, office);
    const { rest } = await this.#runner.ask(LIST, place);
    return seatsOf(office, rest);
  }

  async #ask(
    claim: readonly [string, string, string, string],
    ...args: readonly string[]
  ): Promise<Answer> {
    const [place, slot, socket, number] = claim;
    const [key = "", ...rest] = args;
    try {
      return await this.#runner.ask(
        CLAIM,
        place,
        slot,
        socket,
        key,
        number,
        ...rest,
      );
    } catch (error) {
      const mayBeDone = error instanceof RegistryUnavailableError &&
        error.mayBeDone;
      // It may have been admitted.
      if (mayBeDone) void this.#insist(UNDO, claim);
      throw error;
    }
  }

  /** Tells what became of a claim, until that is answered. */
  async #insist(script: Script, claim: readonly string[]): Promise<void> {
    const { signal } = this.#runner;
    while (!signal.aborted) {
      try {
        await this.#runner.run(script, ...claim);
        return;
      } catch {
        await sleep(INSIST_DELAY_MS, signal).catch(() => {});
      }
    }
  }
}
