import { LogThrottle } from "../../limits/limiter.ts";
import { failure, log } from "../../shared/log.ts";
import type { About, Difference } from "./about.ts";
import type { NodeChange } from "./neighbours.ts";

/** Why a node is fenced. */
export type FenceReason =
  /** Its lease has ended without an answer of Redis. */
  | "lease over"
  /** Others may have its homes already: Redis says that its lease has ended. */
  | "reaped";

/** How many differences are remembered, so that each is logged once. */
const MAX_LOGGED = 1000;

/** What an operator must know of a node: one line for each event, with its remedy. */
export class NodeLog {
  readonly #place: string;
  readonly #logged = new Set<string>();
  readonly #misrouted = new LogThrottle<{ readonly name: string }>(
    ({ name }, omitted) =>
      log.warn(
        "The balancer is not sticky: a request of a session of the node {name} came here, and was refused. All requests of a polling session must reach one node, see docs/scaling.md",
        { name, ...(omitted > 0 && { omitted }) },
      ),
  );
  #isAway = false;
  #whyNotJoined: string | undefined;

  /** @param place the address of Redis, without a password */
  constructor(place: string) {
    this.#place = place;
  }

  /** This node serves. */
  joined(node: string, name: string, others: number): void {
    this.#whyNotJoined = undefined;
    log.info(
      "Joined the cluster at {place} as the node {node}, with {others} others; ids of its sessions begin with {name}",
      { place: this.#place, node, name, others },
    );
  }

  /** This node cannot join; it tries again. */
  cannotJoin(reason: string): void {
    if (reason === this.#whyNotJoined) return;
    this.#whyNotJoined = reason;
    log.error(
      "Cannot join the cluster at {place}, trying again: {reason}. Nobody can join an office here until then",
      { place: this.#place, reason },
    );
  }

  /** Redis does not answer. */
  away(untilOverMs: number, reason: string): void {
    if (this.#isAway) return;
    this.#isAway = true;
    log.error(
      "Redis at {place} does not answer: nobody can join an office, and calls to other nodes fail; in {seconds} s this node disconnects its clients. Bring Redis back, or the network to it: {reason}",
      {
        place: this.#place,
        seconds: Math.round(untilOverMs / 1000),
        reason,
      },
    );
  }

  /** Redis answers. */
  back(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    log.info("Redis at {place} answers again", { place: this.#place });
  }

  /** Another node joined, left or ended. */
  changed({ kind, node, about: { name } }: NodeChange): void {
    switch (kind) {
      case "joined":
        return log.info("The node {node} ({name}) is in the cluster", {
          node,
          name,
        });
      case "left":
        return log.info("The node {node} ({name}) has left the cluster", {
          node,
          name,
        });
      case "ended":
        log.warn(
          "The lease of the node {node} ({name}) has ended: its offices are free. If it still runs, it could not reach Redis, or was stopped for too long",
          { node, name },
        );
    }
  }

  /** The process of a node has ended. */
  gone(node: string, about: About | undefined): void {
    log.warn(
      "The node {node} ({name}) has ended without leaving: it was killed, or failed. Its calls end, and its offices are free when its lease ends; its own log may say why",
      { node, name: about?.name ?? "" },
    );
  }

  /** A node was not heard of for a while. */
  silent(node: string, about: About | undefined): void {
    log.warn(
      "The node {node} ({name}) is silent: calls on their way to it end. It is overloaded or stopped, or cannot send through Redis; its offices are free when its lease ends",
      { node, name: about?.name ?? "" },
    );
  }

  /** Messages between this node and another may be lost. */
  lost(node: string, about: About | undefined): void {
    log.warn(
      "Messages between this node and the node {node} ({name}) may be lost: clients here whose office lives there, and the other way round, reconnect. Frequent ones mean that Redis disconnects the nodes, as its own log says",
      { node, name: about?.name ?? "" },
    );
  }

  /** Redis was restarted, replaced or emptied. */
  newData(isEmpty: boolean, homes: number, lost: number): void {
    const about = { place: this.#place, homes, lost };
    if (isEmpty) {
      log.warn(
        "Redis at {place} has lost its data: the {homes} offices that live here are registered again. If nobody emptied it, check that it is not used by others, and its maxmemory-policy",
        about,
      );
    } else {
      log.info(
        "Redis at {place} was restarted or has failed over: the {homes} offices that live here are registered again",
        about,
      );
    }
    if (lost === 0) return;
    log.warn(
      "{lost} offices that lived here live at other nodes by now: their members are disconnected. Give all nodes the same lease",
      about,
    );
  }

  /** This node may not serve any more. */
  fenced(reason: FenceReason, homes: number): void {
    const about = { place: this.#place, homes };
    if (reason === "reaped") {
      log.error(
        "Fenced: this node did not renew its lease, and others may have the {homes} offices that lived here. All clients are disconnected, and reconnect; check whether the process was stopped or overloaded",
        about,
      );
    } else {
      log.error(
        "Fenced: this node could not renew its lease with Redis at {place}, and others may have the {homes} offices that lived here. All clients are disconnected, and reconnect; bring Redis back, or the network to it, or check whether the process was stopped",
        about,
      );
    }
  }

  /** Redis was restarted just before this node came: it does not know yet which offices live where. */
  settling(waitMs: number): void {
    log.info(
      "Redis at {place} has no data of the cluster yet: the first joins wait for up to {seconds} s, until no former node can serve any more",
      { place: this.#place, seconds: Math.ceil(waitMs / 1000) },
    );
  }

  /** Another node has settings that this one has not; each difference is logged once. */
  differs(node: string, about: About, found: readonly Difference[]): void {
    for (const { setting, own, other } of found) {
      const key = `${setting} ${other}`;
      if (this.#logged.has(key) || this.#logged.size >= MAX_LOGGED) continue;
      this.#logged.add(key);
      log.warn(
        "The nodes differ in {setting}: {own} here, {other} at the node {node} ({name}). Give all nodes the same, unless this is an update on its way",
        { setting, own, other, node, name: about.name },
      );
    }
  }

  /** A request of a session of another node came here. */
  misrouted(name: string, now: number): void {
    this.#misrouted.take("", { name }, now);
  }

  /** Something that must not fail. */
  failed(error: unknown): void {
    log.error("Cannot follow the cluster", failure(error));
  }

  /** Leaving has failed; the lease ends by itself. */
  notLeft(reason: string): void {
    log.warn(
      "Cannot leave the cluster in order: its offices are free when its lease ends: {reason}",
      { reason },
    );
  }
}
