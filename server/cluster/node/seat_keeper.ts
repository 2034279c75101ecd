import { forEachConcurrent } from "../../../shared/async.ts";
import type { Seat } from "../../shared/member.ts";
import type { Beat, Directory, Seated } from "../directory/directory.ts";
import type { Switchboard } from "../switchboard/switchboard.ts";
import { causeOf } from "./cause_of.ts";
import { compareSeats } from "./compare_seats.ts";
import type { NodeLog } from "./node_log.ts";
import type { Tally } from "./tally.ts";

/** How many seats are asked for at a time. */
const CONCURRENT = 100;

/** What {@linkcode SeatKeeper} works with. */
export interface SeatKeeperParts {
  readonly switchboard: Pick<Switchboard, "seats" | "evict" | "reload">;
  readonly log: NodeLog;
  readonly tally: Tally;
}

/** Keeps the seats of a node in the directory those of its members. */
export class SeatKeeper {
  readonly #directory: Directory;
  readonly #parts: SeatKeeperParts;
  readonly #isOver: () => boolean;
  #suspects: ReadonlySet<string> = new Set();
  #isBusy = false;
  #isToReload = false;
  #wasLost = false;

  /** @param isOver whether nothing is to be done any more */
  constructor(
    directory: Directory,
    parts: SeatKeeperParts,
    isOver: () => boolean,
  ) {
    this.#directory = directory;
    this.#parts = parts;
    this.#isOver = isOver;
  }

  /** Looks after a beat whether something is to be done, and begins it. */
  check({ emptied, seats }: Extract<Beat, { state: "ok" }>): void {
    this.#wasLost ||= emptied;
    if (this.#isBusy) return;
    const differs = seats !== this.#parts.switchboard.seats().length;
    if (!differs) this.#suspects = new Set();
    if (!differs && !this.#wasLost && !this.#isToReload) return;
    this.#isBusy = true;
    this.#work(differs).catch((error) => {
      if (!this.#isOver()) this.#parts.log.notReconciled(causeOf(error));
    }).finally(() => this.#isBusy = false);
  }

  /** Reads all offices anew, with the next check. */
  reload(): void {
    this.#isToReload = true;
  }

  async #work(differs: boolean): Promise<void> {
    const { switchboard, log } = this.#parts;
    if (this.#wasLost) {
      await this.#restore(switchboard.seats());
      this.#wasLost = false;
    } else if (differs) {
      const done = await this.#reconcile();
      if (!this.#isOver()) log.reconciled(done);
    }
    if (this.#isToReload && !this.#isOver()) {
      await switchboard.reload();
      this.#isToReload = false;
    }
  }

  async #reconcile() {
    const { switchboard, tally } = this.#parts;
    const before = switchboard.seats();
    const own = await this.#directory.own();
    const { missing, unheld, suspects } = compareSeats(
      before,
      switchboard.seats(),
      own,
      this.#suspects,
    );
    this.#suspects = suspects;
    await forEachConcurrent(unheld, CONCURRENT, async (seat) => {
      if (this.#isOver()) return;
      await this.#directory.registry(seat.protocol).release(seat.member);
      tally.seatsReleased++;
    });
    const { restored, lost } = await this.#restore(missing);
    return { restored, released: unheld.length, lost };
  }

  async #restore(seats: readonly Seated<Seat>[]) {
    const { switchboard, tally } = this.#parts;
    let [restored, lost] = [0, 0];
    await forEachConcurrent(seats, CONCURRENT, async (seat) => {
      if (this.#isOver()) return;
      if (await this.#directory.restore(seat)) {
        restored++;
        tally.seatsRestored++;
        return;
      }
      lost++;
      tally.seatsLost++;
      switchboard.evict(seat);
    });
    return { restored, lost };
  }
}
