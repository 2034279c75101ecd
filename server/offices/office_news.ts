import type { Namespace } from "socket.io";
import { forEachConcurrent } from "../../shared/async.ts";
import {
  ENTER_OFFICE_NOTIFICATION,
  LEAVE_OFFICE_NOTIFICATION,
  namesOf,
  type Notification,
  type Profile,
  SERVER_EVENTS,
  TOOL_CALL_PROGRESS_NOTIFICATION,
} from "../../protocol/mod.ts";
import type { Seat } from "../shared/member.ts";
import type { Exchange, Notice } from "./exchange.ts";
import type { OfficeRegistry } from "./registry.ts";
import type { SeatChange } from "./roster.ts";
import type { Rosters } from "./rosters.ts";

/** Returns the Socket.IO room of an office; the prefix keeps it apart from socket ids (spec §5). */
export const roomOf = (office: string): string => `office:${office}`;

/** How many offices are read at a time: all of them at once would not be answered in time. */
const CONCURRENT_READS = 100;

/** What a Computer may have told its office. */
const UPDATES: readonly Notification[] = Object.values(SERVER_EVENTS).flatMap(
  ({ from, notification }) =>
    from === "computer" && notification !== undefined &&
      notification !== TOOL_CALL_PROGRESS_NOTIFICATION
      ? [notification]
      : [],
);

/** Tells the members of offices what happens there, on this node and on the others (spec §3). */
export class OfficeNews {
  readonly #nsp: Namespace;
  readonly #profile: Profile;
  readonly #rosters: Rosters;
  readonly #exchange: Exchange | undefined;
  readonly #looking = new Map<string, Promise<void>>();

  /**
   * @param nsp has a room for each office
   * @param profile the protocol version of the server
   * @param rosters who sits in the offices that have members here
   * @param exchange the other nodes, in a cluster
   */
  constructor(
    nsp: Namespace,
    profile: Profile,
    rosters: Rosters,
    exchange: Exchange | undefined,
  ) {
    this.#nsp = nsp;
    this.#profile = profile;
    this.#rosters = rosters;
    this.#exchange = exchange;
  }

  /** Sends a notification to all members of an office. */
  notify(notice: Notice): void {
    this.notifyHere(notice);
    this.#exchange?.notify(notice);
  }

  /** Sends a notification to those members of an office whose connections are here. */
  notifyHere(
    { office, event, payload, except }: Omit<Notice, "from">,
  ): void {
    const room = this.#nsp.to(roomOf(office));
    const receivers = except === undefined ? room : room.except(except);
    for (const name of namesOf(this.#profile, event)) {
      receivers.emit(name, payload);
    }
  }

  /** A member here has taken a seat: tells everybody. */
  enters(seat: Seat): void {
    this.entered(seat);
    this.#exchange?.entered(seat);
  }

  /** A seat was taken: tells the members here. */
  entered(seat: Seat): void {
    const roster = this.#rosters.get(seat.office);
    if (roster) this.#tell(roster.enter(seat));
  }

  /**
   * A seat was left: tells everybody, unless they have heard of it.
   *
   * @param from the connection that causes it
   */
  leaves(seat: Seat, from: string): void {
    if (this.#rosters.get(seat.office)?.has(seat)) {
      this.left(seat);
      this.#exchange?.left(seat, from);
    }
  }

  /** A seat was left: tells the members here, unless they have heard of it. */
  left(seat: Seat): void {
    const roster = this.#rosters.get(seat.office);
    if (roster) this.#tell(roster.leave(seat));
  }

  /** Returns whether the connection of a seat is here. */
  readonly isHere = ({ node }: Seat): boolean => node === this.#exchange?.node;

  /**
   * Tells the members here what they have missed.
   *
   * @param seats the office in the registry
   * @param since the stamp of its roster before the registry was asked
   */
  load(office: string, seats: readonly Seat[], since: number): void {
    const roster = this.#rosters.get(office);
    if (roster) this.#tell(roster.load(seats, since, this.isHere));
    this.#rosters.completed(office);
  }

  /** Compares all offices with the registry; rejects when it cannot be asked. */
  async reload(registry: OfficeRegistry): Promise<void> {
    const offices = this.#rosters.offices();
    await forEachConcurrent(
      offices,
      CONCURRENT_READS,
      (office) => this.#compare(registry, office),
    );
  }

  /** Compares an office with the registry, once for all who ask meanwhile. */
  look(registry: OfficeRegistry, office: string): Promise<void> {
    const looking = this.#looking.get(office) ??
      this.#compare(registry, office)
        .finally(() => this.#looking.delete(office));
    this.#looking.set(office, looking);
    return looking;
  }

  async #compare(registry: OfficeRegistry, office: string): Promise<void> {
    const { stamp } = this.#rosters.hold(office);
    try {
      this.load(office, await registry.list(office), stamp);
    } finally {
      this.#rosters.free(office);
    }
  }

  /** Tells the members here that all contents of a node's Computers may have changed. */
  refresh(node: string): void {
    for (const office of this.#rosters.offices()) {
      const seats = this.#rosters.get(office)?.seats() ?? [];
      for (const { role, name, node: home } of seats) {
        if (role !== "computer" || home !== node) continue;
        const payload = { computer: name };
        for (const event of UPDATES) {
          this.notifyHere({ office, event, payload, except: undefined });
        }
      }
    }
  }

  /** Nobody hears of itself. */
  #tell(changes: readonly SeatChange[]): void {
    for (const { kind, seat: { office, role, name, socket } } of changes) {
      this.notifyHere({
        office,
        event: kind === "enter"
          ? ENTER_OFFICE_NOTIFICATION
          : LEAVE_OFFICE_NOTIFICATION,
        payload: { office_id: office, [role]: name },
        except: socket,
      });
    }
  }
}
