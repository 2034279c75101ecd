/**
 * What a gateway and a server are to each other, and how the gateway's Agents make way for others.
 *
 * @module
 */
import type { Limits } from "../limits/limits.ts";
import { AGENT_SEAT_TAKEN } from "../office/office.ts";
import type {
  Offices,
  Peer,
  Refusal,
  Seat,
  SeatHolder,
  WantedSeat,
} from "../office/peer.ts";
import type { CallSource, Identity } from "../shared/identity.ts";
import type { InProcessConnection } from "../../shared/in_process.ts";

/**
 * Serves offices in another protocol over HTTP, such as MCP: it sits in an office as its Agent, and
 * answers requests for `PATH/OFFICE`, which the Server has admitted.
 */
export interface Gateway {
  /** The path before the name of the office, such as `/mcp`. */
  readonly path: string;
  /** Answers a request; its `signal` is aborted when the client goes away. */
  handle(request: Request, caller: GatewayCaller): Promise<Response>;
  /**
   * Frees the seat of an office for an Agent that may use the office as the gateway's clients do.
   *
   * @param principal as which that Agent is authenticated
   * @returns `undefined` once the seat is free; else who uses it and until when, as the rest of a sentence
   */
  makeWay(
    office: string,
    principal: string | undefined,
  ): Promise<string | undefined>;
  /** Is called when another Agent has left an office, or was not let in after all. */
  seatFreed(office: string): void;
  /** Lets the calls end that have their answers, then ends all requests and gives up all seats. */
  close(): Promise<void>;
}

/** Whose request a gateway answers. */
export interface GatewayCaller {
  /** The office that it may use. */
  readonly office: string;
  /** Who it is authenticated as; absent without authentication. */
  readonly principal?: string;
}

/** What a Server gives its gateway. */
export interface GatewayHost {
  /** What its Agents must stay below. */
  readonly limits: Pick<Limits, "eventsPerSecond" | "callsPerAgent">;
  /** The largest request, in bytes. */
  readonly maxMessageBytes: number;
  /**
   * Connects an Agent of the gateway within the process, as the gateway's and nobody else's.
   *
   * @throws {ProtocolError} 500 when the Server is shutting down
   */
  connect(): InProcessConnection;
  /** Finds the Agent because of which one of the gateway's got no seat in an office; once. */
  agentOf(
    office: string,
  ): Promise<{ readonly name: string; readonly node?: string } | undefined>;
  /** Names in the audit log who makes the call with this `req_id`; returns what forgets it again. */
  attribute(reqId: string, source: CallSource): () => void;
}

type Joined = Seat | Refusal;

/** Who gives up seats: a gateway. */
type Sharer = Pick<Gateway, "makeWay" | "seatFreed">;

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
    if (this.#own.get(office)?.isHeld) {
      return this.#tryAgain(peer, wanted, gateway);
    }
    const { holder } = joined;
    if (holder === undefined) return joined;
    const { name, node } = holder;
    const place = node === undefined
      ? ""
      : `, at the node ${JSON.stringify(node)}`;
    return because(`${JSON.stringify(name)} has it until it leaves${place}`);
  }

  async #tryAgain(
    peer: Peer,
    wanted: WantedSeat,
    gateway: Sharer,
  ): Promise<Joined> {
    const { office } = wanted;
    const why = await gateway.makeWay(office, peer.identity?.principal);
    if (why !== undefined) return because(why);
    const joined = await this.#offices.join(peer, wanted);
    if (!("refused" in joined)) return returned(joined, office, gateway);
    gateway.seatFreed(office);
    return joined;
  }
}

const because = (why: string): Refusal => ({
  refused: `${AGENT_SEAT_TAKEN}: ${why}`,
});

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
