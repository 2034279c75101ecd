import type { Namespace } from "socket.io";
import type { Profile } from "../../protocol/mod.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { Arrivals } from "../limits/arrivals.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { PacketGuards } from "../limits/packet_guards.ts";
import type { CallObserver } from "../observe/call_observer.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { SmcpServerStats } from "../observe/stats.ts";
import { Membership } from "../offices/membership.ts";
import type { OfficeRegistry } from "../offices/registry.ts";
import { Dispatcher } from "../relay/dispatcher.ts";
import type { LinkedSession } from "../relay/linked_session.ts";
import { Relay } from "../relay/relay.ts";
import { acceptSessions } from "./accept.ts";

/** Options for {@linkcode Sessions}. */
export interface SessionsOptions {
  /** What the server speaks. */
  readonly profile: Profile;
  /** Who is a member of which office. */
  readonly registry: OfficeRegistry;
  /** Seconds to wait for requests without a timeout of their own. */
  readonly requestTimeout: number;
  /** Told of each request that is relayed. */
  readonly watch: CallObserver;
  /** Decides who may connect; absent: everybody. */
  readonly authenticator: Authenticator | undefined;
  /** What the server allows. */
  readonly limiter: Limiter;
  /** The connections that have no session yet. */
  readonly arrivals: Arrivals;
  /** What connections send. */
  readonly guards: PacketGuards;
  /** How many proxies of the operator's own stand in front of the server. */
  readonly proxies: number;
  /** Told of events and refusals. */
  readonly metrics: Metrics | undefined;
}

/** The sessions of a server, their offices, and the calls between them. */
export class Sessions {
  readonly #open = new Map<string, LinkedSession>();
  readonly #relay: Relay;
  readonly #membership: Membership;
  readonly #recheck: () => Promise<void>;

  /** Makes a session of every connection of `nsp` that may connect. */
  constructor(nsp: Namespace, options: SessionsOptions) {
    const { profile, registry, limiter, metrics } = options;
    const relay = new Relay(
      registry,
      this.#open,
      profile,
      options.requestTimeout,
      options.watch,
      limiter,
    );
    const membership = new Membership(
      nsp,
      registry,
      this.#open,
      profile,
      relay,
      limiter,
    );
    this.#recheck = acceptSessions(nsp, this.#open, {
      ...options,
      dispatcher: new Dispatcher(profile, relay, membership, limiter, metrics),
      relay,
      membership,
    });
    this.#relay = relay;
    this.#membership = membership;
  }

  /** Counts of this moment. */
  get stats(): SmcpServerStats {
    const members = [...this.#open.values()].flatMap((s) => s.member ?? []);
    return {
      connections: this.#open.size,
      offices: new Set(members.map((m) => m.office)).size,
      members: members.length,
    };
  }

  /** Asks again who the holders of all sessions are. */
  recheck(): Promise<void> {
    return this.#recheck();
  }

  /**
   * Refuses joins and calls, waits for the calls on their way, and tells the offices that their
   * members leave.
   *
   * @param graceMs how long to wait for calls at most
   */
  async drain(graceMs: number): Promise<void> {
    this.#membership.close();
    await this.#relay.drain(graceMs);
    await Promise.all(
      [...this.#open.values()].map((session) =>
        session.enqueue(() => this.#membership.depart(session))
      ),
    );
  }
}
