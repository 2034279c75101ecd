import type { CallSources } from "../observe/call_sources.ts";
import type { GatewayPass } from "../auth/gateway_pass.ts";
import type { Gateway, GatewayHost } from "./gateway.ts";
import type { GatewaySeats } from "./gateway_seats.ts";
import { type OfficesOfVersion, versionFor } from "./version_for.ts";
import { type GatewayParts, GatewayRoutes } from "./gateway_routes.ts";
import {
  type EngineOfVersion,
  InsideListener,
  type InsideParts,
} from "./inside_listener.ts";

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
  /** Know who is in an office, one for each protocol version, oldest first. */
  readonly logical: readonly (OfficesOfVersion & EngineOfVersion)[];
}

/** Makes a gateway, and what connects it with its Server. */
export function mountGateway(
  { start, pass, sources, seats }: {
    readonly start: (host: GatewayHost) => Gateway;
    readonly pass: GatewayPass;
    readonly sources: CallSources;
    readonly seats: GatewaySeats;
  },
  parts: MountParts,
): GatewayMount {
  const inside = new InsideListener({ ...parts, pass });
  const gateway = start({
    limits: parts.limiter.limits,
    maxMessageBytes: parts.maxMessageBytes,
    connect: async (office) =>
      inside.connect((await versionFor(office, parts.logical)).protocol),
    agentOf: async (office) =>
      (await versionFor(office, parts.logical)).sessions.agentOf(office),
    attribute: (reqId, source) => sources.add(reqId, source),
  });
  seats.serve(gateway);
  return { routes: new GatewayRoutes({ ...parts, gateway }), inside };
}
