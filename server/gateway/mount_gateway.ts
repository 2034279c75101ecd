import type { Gateway, GatewayHost } from "./gateway.ts";
import { type GatewayParts, GatewayRoutes } from "./gateway_routes.ts";
import type { GatewaySeats } from "./gateway_seats.ts";
import { InsideListener, type InsideParts } from "./inside_listener.ts";
import type { GatewayPass } from "../auth/gateway_pass.ts";
import type { CallSources } from "../observe/call_sources.ts";

/** A gateway that is wanted, and what it shares with other parts. */
export interface GatewaySetup {
  /** Makes it. */
  readonly start: (host: GatewayHost) => Gateway;
  /** The credentials of its Agents. */
  readonly pass: GatewayPass;
  /** Who makes the calls of its Agents. */
  readonly sources: CallSources;
}
/** The two doors of a gateway: where its clients come in, and where its Agents do. */
export interface GatewayMount {
  /** Of its clients. */
  readonly routes: GatewayRoutes;
  /** Of its Agents. */
  readonly inside: InsideListener;
}

/** The parts of a server that {@linkcode mountGateway} needs. */
export interface MountParts
  extends Omit<GatewayParts, "gateway">, Omit<InsideParts, "pass"> {
  /** The seats of its Agents. */
  readonly seats: GatewaySeats | undefined;
  /** Finds the name of the Agent of an office, if its home is here. */
  readonly agentOf: (office: string) => string | undefined;
}

/** Makes a gateway, and what connects it with its Server. */
export function mountGateway(
  { start, pass, sources }: GatewaySetup,
  parts: MountParts,
): GatewayMount {
  const inside = new InsideListener({ ...parts, pass });
  const host: GatewayHost = {
    limits: parts.limiter.limits,
    maxMessageBytes: parts.maxMessageBytes,
    connect: () => inside.connect(),
    agentOf: (office) => Promise.resolve(parts.agentOf(office)),
    attribute: (reqId, source) => sources.add(reqId, source),
  };
  const gateway: Gateway = start(host);
  parts.seats?.serve(gateway);
  return { routes: new GatewayRoutes({ ...parts, gateway }), inside };
}
