import type { Buffer } from "node:buffer";
import {
  ClusterOffices,
  type Home,
  type Sent,
  type TunnelNode,
} from "../cluster/cluster_offices.ts";
import type { LocalOffices } from "../office/office.ts";
import type { Offices } from "../office/peer.ts";
import type {
  AgreedSettings,
  ClusterFigures,
  ClusterMember,
  ClusterStatus,
  OtherNodes,
} from "../shared/cluster.ts";
import { ObjectLinks } from "./links.ts";
import type { WorkerWebSocket } from "./platform.ts";

/** The object that operators ask, which the others tell that they live. */
export const REGISTRY = "registry";

/** What the name of an office's object begins with. */
const OFFICE_PREFIX = "office:";

/** Returns the object that is the home of an office. */
export const homeOf = (office: string): string => OFFICE_PREFIX + office;

/** Returns the office whose home an object is. */
export const officeOf = (object: string): string | undefined =>
  object.startsWith(OFFICE_PREFIX)
    ? object.slice(OFFICE_PREFIX.length)
    : undefined;

/** Returns which object a node is. */
export const objectOf = (
  node: string,
): { readonly binding: "FRONT" | "OFFICE"; readonly name: string } =>
  officeOf(node) !== undefined || node === REGISTRY
    ? { binding: "OFFICE", name: node }
    : { binding: "FRONT", name: node.split(".", 1)[0] ?? "" };

/** How long a join waits for the object of its office, which may start just then. */
const PATIENCE_MS = 6000;

/** How often an object looks whether it is still of use. */
const LOOK_MS = 30_000;

/** How soon it connects the registry again, which may be replaced by a new one. */
const RETRY_MS = 1000;

/** What {@linkcode ObjectNode} works with. */
export interface ObjectNodeParts {
  /** The name of the object. */
  readonly object: string;
  /** Connects it, as a node of that name, with another object. */
  dial(from: string, to: string): Promise<WorkerWebSocket>;
  /** Returns the number of clients that are connected here. */
  clients(): number;
}

/**
 * A Durable Object as a node of a cluster. Which object is the home of an office follows from its name, so
 * there is nothing to agree on, and no lease: the platform runs one object of a name.
 *
 * An object that has clients, or members of its office, tells the registry so by a WebSocket, and closes
 * all of its own once it has none: then it costs nothing.
 */
export class ObjectNode implements ClusterMember, TunnelNode {
  readonly name: string;
  readonly node: string;
  readonly routesSessions = true;
  readonly hindrance = undefined;
  readonly homes: TunnelNode["homes"];
  readonly links: ObjectLinks;
  readonly #parts: ObjectNodeParts;
  readonly #offices: ClusterOffices;
  #local: LocalOffices | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(parts: ObjectNodeParts) {
    const { object } = parts;
    const office = officeOf(object);
    const isRegistry = object === REGISTRY;
    this.#parts = parts;
    this.name = object;
    // Its streams begin anew with it, unlike those of an object that is reached by its name.
    this.node = office === undefined && !isRegistry
      ? `${object}.${crypto.randomUUID().slice(0, 8)}`
      : object;
    this.homes = {
      // For operators an office that has no object is an empty one.
      has: (name) =>
        isRegistry ? !this.peers.has(homeOf(name)) : name === office,
    };
    this.links = new ObjectLinks({
      dial: (to) => parts.dial(this.node, to),
      received: (node, message) => this.#received(node, message),
      failed: (node) => this.#failed(node),
    });
    this.#offices = new ClusterOffices(this, PATIENCE_MS);
  }

  // ---------------------------------------------------------------- directory

  isServing(): boolean {
    return true;
  }

  claim(office: string): Promise<Home> {
    const node = this.homes.has(office) ? this.node : homeOf(office);
    return Promise.resolve({ node, leaseLeftMs: PATIENCE_MS });
  }

  /** Does nothing: messages to other objects may still be queued when its office is empty. */
  release(): Promise<void> {
    return Promise.resolve();
  }

  // ---------------------------------------------------------------- messages

  get peers(): ReadonlySet<string> {
    return this.links.peers;
  }

  get maxMessageBytes(): number {
    return this.links.maxMessageBytes;
  }

  send(to: string, stream: string, message: readonly Uint8Array[]): Sent {
    return this.links.send(to, stream, message);
  }

  #received(node: string, message: Buffer): void {
    this.#offices.received(node, message);
  }

  #failed(node: string): void {
    this.#offices.failed(node, "gone");
    if (node === REGISTRY) setTimeout(() => this.#look(), RETRY_MS);
  }

  /** Lets the registry know that the object is used, until it is not. */
  use(): void {
    if (this.#parts.object === REGISTRY) return;
    this.links.connect(REGISTRY);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS);
  }

  #look(): void {
    const isUsed = this.#parts.clients() > 0 ||
      [...this.#local ?? []].length > 0;
    if (isUsed) return this.use();
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#parts.object !== REGISTRY) this.links.close();
  }

  // ---------------------------------------------------------------- member of a cluster

  get others(): OtherNodes {
    const { others } = this.#offices;
    return {
      get nodes() {
        return others.nodes;
      },
      ask: (...question) => others.ask(...question),
      answerWith: (answer) => others.answerWith(answer),
      hasRetired: (node) => this.links.hasRetired(node),
    };
  }

  start(_settings: AgreedSettings, local: LocalOffices): Offices {
    this.#local = local;
    return this.#offices.start(local);
  }

  joined(): Promise<void> {
    return Promise.resolve();
  }

  leave(): Promise<void> {
    clearInterval(this.#timer);
    this.#offices.close();
    this.links.close();
    return Promise.resolve();
  }

  /** The door has sent it here, and it has ended. */
  unknownSession(): void {}

  status(): ClusterStatus {
    return {
      node: this.node,
      leaseMs: PATIENCE_MS,
      redis: "connected",
      nodes: this.peers.size + 1,
    };
  }

  figures(): ClusterFigures {
    return {
      ...NONE,
      ...this.links.counts,
      ...this.#offices.counts,
      homes: [...this.#local ?? []].length,
    };
  }

  /** Homes are not claimed. */
  onClaim(): void {}
}

/** What cannot happen without Redis. */
const NONE = {
  queuedBytes: 0,
  messagesFull: 0,
  messagesAway: 0,
  linksLost: 0,
  nodesSilent: 0,
  nodesGone: 0,
  homesLost: 0,
  beatsFailed: 0,
  dataLost: 0,
  fences: 0,
  misrouted: 0,
};
