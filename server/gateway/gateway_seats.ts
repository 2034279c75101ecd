import type { SeatSharer } from "../offices/membership.ts";
import type { Identity } from "../shared/identity.ts";
import type { Session } from "../shared/session.ts";
import type { Gateway } from "./gateway.ts";

/** The seats of a gateway's Agents, as offices see them: these are made before their gateway. */
export class GatewaySeats implements SeatSharer {
  readonly #agents: Identity;
  #gateway: Pick<Gateway, "makeWay" | "seatFreed"> | undefined;

  /** @param agents the identity of the gateway's Agents */
  constructor(agents: Identity) {
    this.#agents = agents;
  }

  /** Connects them with their gateway. */
  serve(gateway: Pick<Gateway, "makeWay" | "seatFreed">): void {
    this.#gateway = gateway;
  }

  isOwn({ identity }: Session): boolean {
    return identity === this.#agents;
  }

  async makeWay(
    office: string,
    principal: string | undefined,
  ): Promise<string | undefined> {
    return await this.#gateway?.makeWay(office, principal);
  }

  seatFreed(office: string): void {
    this.#gateway?.seatFreed(office);
  }
}
