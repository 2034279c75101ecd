/**
 * How the Agents of a gateway make way for others.
 *
 * @module
 */
import { AGENT_SEAT_TAKEN } from "../office/office.ts";
import type {
  Offices,
  Peer,
  Refusal,
  Seat,
  SeatHolder,
  WantedSeat,
} from "../office/peer.ts";
import type { Identity } from "../shared/identity.ts";
import type { Gateway, SeatUse } from "../../shared/gateway.ts";

type Joined = Seat | Refusal;

/** A gateway, as far as it frees seats. */
type Sharer = Pick<Gateway, "freeSeat" | "seatFreed">;

/** The offices of a server with a gateway, whose Agents make way for others. */
export class GatewaySeats implements Offices {
  readonly #offices: Offices;
  readonly #agents: Identity;
  /** Who has the seats that the gateway's Agents were refused. */
  readonly #holders = new Map<string, SeatHolder>();
  readonly #own = new Map<string, Seat>();
  #gateway: Sharer | undefined;

  /** @param agents the identity of the gateway's Agents */
  constructor(offices: Offices, agents: Identity) {
    this.#offices = offices;
    this.#agents = agents;
  }

  /** Returns, once, the Agent because of which the gateway's own got no seat. */
  holderOf(office: string): SeatHolder | undefined {
    const holder = this.#holders.get(office);
    this.#holders.delete(office);
    return holder;
  }

  /** Whether the gateway's Agent of this process has the seat of an office. */
  holds(office: string): boolean {
    return this.#own.get(office)?.isHeld === true;
  }

  /** Connects them with the gateway, which is made after them. */
  serve(gateway: Sharer): void {
    this.#gateway = gateway;
  }

  get isClosed(): boolean {
    return this.#offices.isClosed;
  }

  drain(graceMs: number): Promise<void> {
    return this.#offices.drain(graceMs);
  }

  join(...asked: Parameters<Offices["join"]>): Joined | Promise<Joined> {
    const [peer, wanted] = asked;
    const joining = this.#offices.join(...asked);
    if (wanted.role !== "agent") return joining;
    return joining instanceof Promise
      ? joining.then((joined) => this.#judge(joined, peer, wanted))
      : this.#judge(joining, peer, wanted);
  }

  /** Makes way for an Agent that was refused because of the gateway's own. */
  #judge(
    joined: Joined,
    peer: Peer,
    wanted: WantedSeat,
  ): Joined | Promise<Joined> {
    const { office } = wanted;
    if (peer.identity === this.#agents) {
      if (!("refused" in joined)) this.#own.set(office, joined);
      else if (joined.holder) this.#holders.set(office, joined.holder);
      return joined;
    }
    const gateway = this.#gateway;
    if (gateway === undefined) return joined;
    if (!("refused" in joined)) return returned(joined, office, gateway);
    if (joined.refused !== AGENT_SEAT_TAKEN) return joined;
    if (this.holds(office)) {
      return this.#tryAgain(peer, wanted, gateway);
    }
    const { holder } = joined;
    if (holder === undefined) return joined;
    return taken(describeHolder(holder));
  }

  async #tryAgain(
    peer: Peer,
    wanted: WantedSeat,
    gateway: Sharer,
  ): Promise<Joined> {
    const { office } = wanted;
    const use = await gateway.freeSeat(office, peer.identity?.principal);
    if (use !== undefined) return taken(describeUse(use));
    const joined = await this.#offices.join(peer, wanted);
    if (!("refused" in joined)) return returned(joined, office, gateway);
    gateway.seatFreed(office);
    return joined;
  }
}

const taken = (why: string): Refusal => ({
  refused: `${AGENT_SEAT_TAKEN}: ${why}`,
});

function describeHolder({ name, node }: SeatHolder): string {
  const place = node === undefined
    ? ""
    : `, at the node ${JSON.stringify(node)}`;
  return `${JSON.stringify(name)} has it until it leaves${place}`;
}

function describeUse({ holder, until }: SeatUse): string {
  const name = JSON.stringify(holder);
  switch (until.kind) {
    case "idle":
      return `${name} has it for MCP clients with other credentials, until ${
        until.idleMs / 1000
      } seconds after their last request or stream`;
    case "command":
      return `${name} has it for a command, until that has ended`;
    case "calls":
      return `${name} has it for MCP clients, until their calls have ended: ${until.inFlight} in flight`;
    case "tasks": {
      const waiting = until.open === 1
        ? "1 task waits"
        : `${until.open} tasks wait`;
      return `${name} has it for MCP clients, until their tasks have ended: ${waiting}`;
    }
  }
}

/** A seat that the gateway may take again once it is left. */
function returned(seat: Seat, office: string, gateway: Sharer): Seat {
  let isFreed = false;
  const free = () => {
    if (!isFreed) gateway.seatFreed(office);
    isFreed = true;
  };
  return {
    get isHeld() {
      return seat.isHeld;
    },
    receive: (event, payload, ack) => seat.receive(event, payload, ack),
    leave: () => {
      const left = seat.leave();
      free();
      return left;
    },
    gone: () => {
      seat.gone();
      free();
    },
  };
}
