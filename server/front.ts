import type { Hono } from "hono";
import { PACKAGE_VERSION } from "../cli/version.ts";
import type { ServerCore } from "./core.ts";
import { type GatewayRoutes, mountGateway } from "./gateway/gateway_routes.ts";
import type { AdmissionParts } from "./http/admit_request.ts";
import { httpApp, type SmcpEnv } from "./http/http_app.ts";
import { refuseOperators } from "./operator/nodes.ts";
import { OperatorRoutes } from "./operator/http/operator_routes.ts";
import type { ResolvedOptions } from "./options.ts";

/** The parts that decide about requests, the same for each platform. */
export type FrontParts = ResolvedOptions & AdmissionParts;

/** The HTTP side of a server, whatever platform serves it: one app with all routes. */
export class ServerFront {
  /** Answers all requests but upgrades. */
  readonly app: Hono<SmcpEnv>;
  readonly #core: ServerCore;
  readonly #gateway: GatewayRoutes | undefined;
  readonly #operator: OperatorRoutes | undefined;

  constructor(core: ServerCore, all: FrontParts) {
    const { local, sessions, seats, agentOf, connections, stats } = core;
    const { auditPayloads } = all;
    this.#core = core;
    this.#gateway = all.gateway && mountGateway(all.gateway, {
      ...all,
      ...{ seats, agentOf },
      connect: (options) => core.connect(options),
    });
    this.#operator = all.operator && new OperatorRoutes({
      ...all,
      ...{ local, sessions, stats },
      questions: { ...core.parts, auditPayloads },
      token: all.operator.token,
      journal: core.journal,
      version: PACKAGE_VERSION,
      since: Date.now(),
      recheck: () => this.#recheckClients(),
    });
    if (all.cluster && !all.operator) refuseOperators(all.cluster.others);
    this.app = httpApp({
      ...all,
      ...{ connections, stats },
      protocols: core.protocols,
      gateway: this.#gateway,
      operator: this.#operator,
    });
  }

  /** Checks all credentials again. */
  async recheck(): Promise<void> {
    await Promise.all([this.#recheckClients(), this.#operator?.recheck()]);
  }

  /** Refuses what is new, waits for pending calls, and disconnects all clients. */
  async close(graceMs: number): Promise<void> {
    await this.#core.drain(graceMs);
    this.#operator?.close();
    await this.#gateway?.close();
    await this.#core.disconnect();
  }

  async #recheckClients(): Promise<void> {
    await Promise.all([this.#core.recheck(), this.#gateway?.recheck()]);
  }
}
