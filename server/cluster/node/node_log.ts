import { LogThrottle } from "../../limits/log_throttle.ts";
import { failure, log } from "../../shared/log.ts";
import type { About, Difference } from "./about.ts";
import type { NodeChange } from "./neighbours.ts";

/** Why a node is fenced. */
export type FenceReason =
  /** Its lease has ended without an answer of Redis. */
  | "lease over"
  /** Others were told that its members have left. */
  | "reaped";

/** How many differences are remembered, so that each is told once. */
const MAX_TOLD = 1000;

/** What an operator must know of a node: one line for each event, with its remedy. */
export class NodeLog {
  readonly #place: string;
  readonly #told = new Set<string>();
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

  /** Another node came or went. */
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
        return log.warn(
          "The lease of the node {node} ({name}) has ended: its members have left their offices. If it still runs, it could not reach Redis, or was stopped for too long",
          { node, name },
        );
      case "missing":
        log.warn(
          "The node {node} ({name}) is in the cluster no more, and did not say so: Redis has lost data about it",
          { node, name },
        );
    }
  }

  /** The process of a node has ended. */
  gone(node: string, about: About | undefined): void {
    log.warn(
      "The node {node} ({name}) has ended without leaving: it was killed, or failed. Its calls end, its members leave; its own log may say why",
      { node, name: about?.name ?? "" },
    );
  }

  /** A node was not heard of for a while. */
  silent(node: string, about: About | undefined): void {
    log.warn(
      "The node {node} ({name}) is silent: calls on their way to it end. It is overloaded or stopped, or cannot send through Redis; its members stay until its lease ends",
      { node, name: about?.name ?? "" },
    );
  }

  /** Messages between this node and another may be lost. */
  lost(node: string, about: About | undefined): void {
    log.warn(
      "Messages between this node and the node {node} ({name}) may be lost: calls on their way end, offices are read anew. Frequent ones mean that Redis disconnects the nodes, as its own log says",
      { node, name: about?.name ?? "" },
    );
  }

  /** This node has freed seats of nodes that have ended. */
  reaped(seats: number): void {
    log.info("Freed {seats} seats of nodes that have ended", { seats });
  }

  /** This node could not free the seats of a node that has ended. */
  notReaped(node: string, reason: string): void {
    log.warn(
      "Cannot free the seats of the node {node} now, its lease frees them: {reason}",
      { node, reason },
    );
  }

  /** Redis has lost its data. */
  dataLost(seats: number): void {
    log.warn(
      "Redis at {place} has lost its data: the {seats} members here take their seats again. If nobody emptied it, check that it is not used by others, and its maxmemory-policy",
      { place: this.#place, seats },
    );
  }

  /** Seats here and in Redis were made alike. */
  reconciled(
    done: { restored: number; released: number; lost: number },
  ): void {
    if (done.restored + done.released + done.lost === 0) return;
    log.warn(
      "Made the seats in Redis those of the members here: {restored} taken again, {released} released, {lost} members disconnected whose seats others have. After a fail-over of Redis, or lost answers of it, that is expected",
      done,
    );
  }

  /** The seats could not be compared, or not all of them. */
  notReconciled(reason: string): void {
    log.warn(
      "Cannot compare the seats in Redis with the members here, trying again with the next beat: {reason}",
      { reason },
    );
  }

  /** This node may not serve any more. */
  fenced(reason: FenceReason, members: number): void {
    const about = { place: this.#place, members };
    if (reason === "reaped") {
      log.error(
        "Fenced: others were told that the {members} members here have left, since this node did not renew its lease. All clients are disconnected, and reconnect; check whether the process was stopped or overloaded",
        about,
      );
    } else {
      log.error(
        "Fenced: this node could not renew its lease with Redis at {place}, and others may have the seats of the {members} members here. All clients are disconnected, and reconnect; bring Redis back, or the network to it, or check whether the process was stopped",
        about,
      );
    }
  }

  /** Another node has settings that this one has not; each difference is told once. */
  differs(node: string, about: About, found: readonly Difference[]): void {
    for (const { setting, own, other } of found) {
      const key = `${setting} ${other}`;
      if (this.#told.has(key) || this.#told.size >= MAX_TOLD) continue;
      this.#told.add(key);
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
      "Cannot leave the cluster in order: others free the seats of this node when its lease ends: {reason}",
      { reason },
    );
  }
}
