import type { Gateway, GatewayHost } from "./gateway.ts";
import { type GatewayParts, GatewayRoutes } from "./gateway_routes.ts";
import type { GatewaySeats } from "./gateway_seats.ts";
import type { InProcessConnection } from "../../shared/in_process.ts";
import type { ConnectOptions } from "../doors/in_process.ts";
import type { CallSources } from "../observe/call_sources.ts";
import type { Identity } from "../shared/identity.ts";

/** A gateway that is wanted, and what it shares with other parts. */
export interface GatewaySetup {
  /** Makes it. */
  readonly start: (host: GatewayHost) => Gateway;
  /** Who its Agents are: one object for all, by which they are recognized. */
  readonly agents: Identity;
  /** Who makes the calls of its Agents. */
  readonly sources: CallSources;
}

/** The parts of a server that {@linkcode mountGateway} needs. */
export interface MountParts extends Omit<GatewayParts, "gateway"> {
  /** The seats of its Agents. */
  readonly seats: GatewaySeats | undefined;
  /** Connects its Agents. */
  readonly connect: (options: ConnectOptions) => InProcessConnection;
  /** Finds the name of the Agent of an office, if its home is here. */
  readonly agentOf: (office: string) => string | undefined;
}

/** Makes a gateway, and what connects it with its Server. */
export function mountGateway(
  { start, agents, sources }: GatewaySetup,
  parts: MountParts,
): GatewayRoutes {
  const host: GatewayHost = {
    limits: parts.limiter.limits,
    maxMessageBytes: parts.maxMessageBytes,
    connect: () => parts.connect({ identity: agents }),
    agentOf: (office) => Promise.resolve(parts.agentOf(office)),
    attribute: (reqId, source) => sources.add(reqId, source),
  };
  const gateway: Gateway = start(host);
  parts.seats?.serve(gateway);
  return new GatewayRoutes({ ...parts, gateway });
}
