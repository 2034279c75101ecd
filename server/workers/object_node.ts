/**
 * Durable Objects as the nodes of a cluster, and the WebSockets between them.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import {
  ClusterOffices,
  type Home,
  type Messenger,
  type Sent,
  type TunnelNode,
} from "../cluster/cluster_offices.ts";
import type { LocalOffices } from "../office/office.ts";
import type { Offices } from "../office/peer.ts";
import {
  type AgreedSettings,
  ClusterCounts,
  type ClusterFigures,
  type ClusterMember,
  type ClusterStatus,
  type OtherNodes,
} from "../shared/cluster.ts";
import { failure, log } from "../shared/log.ts";
import type { WorkerWebSocket } from "./platform.ts";

/** The object that answers operators, to which the others send a sign of life. */
export const REGISTRY = "registry";

/** What the name of an office's object begins with. */
const OFFICE_PREFIX = "office:";

/** Returns the object that is the home of an office. */
export const homeOf = (office: string): string => OFFICE_PREFIX + office;

/** Returns the office whose home an object is. */
const officeOf = (object: string): string | undefined =>
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

/** Time limit of a join for the object of its office, which may have to start first. */
const OFFICE_START_MS = 6000;

/** How often an object looks whether it is still of use. */
const LOOK_MS = 30_000;

/** How soon it connects the registry again, which may be replaced by a new one. */
const RETRY_MS = 1000;

/** The largest message of a WebSocket that the platform passes on. */
export const MAX_WEBSOCKET_BYTES: number = 32 * 2 ** 20;

/** The code with which an object that is not used any more closes its WebSockets. */
const RETIRED = 1000;

/** How long it is remembered which objects have done so. */
const REMEMBERED_MS = 60_000;

/** A WebSocket, or what waits for it. */
type Link = WorkerWebSocket | Uint8Array[];

/**
 * The WebSockets between this object and others, one for each. The first message to an object connects
 * it. A WebSocket keeps order and loses nothing, so its end is the only failure.
 */
export abstract class ObjectLinks implements Messenger {
  /** Each message is one of a WebSocket. */
  readonly maxMessageBytes = MAX_WEBSOCKET_BYTES;
  readonly #links = new Map<string, Link>();
  /** Until when it is remembered which objects have closed their WebSockets themselves. */
  readonly #retired = new Map<string, number>();
  /** What became of messages. */
  readonly counts = { messagesIn: 0, messagesOut: 0, bytesIn: 0, bytesOut: 0 };

  /** Connects this object with another. */
  protected abstract dial(node: string): Promise<WorkerWebSocket>;

  /** Takes a message; all of one object in order. */
  protected abstract arrived(node: string, message: Buffer): void;

  /** Notes that nothing more comes from an object, and that what was sent to it may not have arrived. */
  protected abstract lost(node: string): void;

  get peers(): ReadonlySet<string> {
    return new Set(this.#links.keys());
  }

  send(to: string, _stream: string, parts: readonly Uint8Array[]): Sent {
    const message = Buffer.concat(parts);
    this.connect(to);
    const link = this.#links.get(to);
    if (link === undefined) return "away";
    this.counts.messagesOut++;
    this.counts.bytesOut += message.length;
    if (Array.isArray(link)) link.push(message);
    else this.#write(to, link, message);
    return "sent";
  }

  /** Connects an object, unless it is connected. */
  connect(to: string): void {
    if (this.#links.has(to)) return;
    const waiting: Uint8Array[] = [];
    this.#links.set(to, waiting);
    this.dial(to).then(
      (socket) => {
        if (this.#links.get(to) !== waiting) return socket.close();
        this.take(to, socket);
        for (const message of waiting) this.#write(to, socket, message);
      },
      (error) => {
        const what = { node: to, ...failure(error) };
        log.warn("Cannot reach the object {node}", what);
        this.#fail(to, waiting);
      },
    );
  }

  /** Takes a WebSocket that receives in memory. */
  take(node: string, socket: WorkerWebSocket): void {
    const ended = (closed?: { readonly code: number }) =>
      this.ended(node, socket, closed?.code);
    socket.addEventListener(
      "message",
      ({ data }) => this.received(node, socket, data),
    );
    socket.addEventListener("close", ended);
    socket.addEventListener("error", () => ended());
    this.add(node, socket);
  }

  /** Adds one of which the messages come by {@linkcode ObjectLinks.received}. */
  add(node: string, socket: WorkerWebSocket): void {
    const former = this.#links.get(node);
    // The other object was restarted: its end of the former one is gone.
    if (former && !Array.isArray(former)) this.ended(node, former);
    this.#links.set(node, socket);
    this.#retired.delete(node);
  }

  /** Takes a message. */
  received(node: string, socket: WorkerWebSocket, data: unknown): void {
    if (this.#links.get(node) !== socket) return;
    if (!(data instanceof ArrayBuffer)) return;
    this.counts.messagesIn++;
    this.counts.bytesIn += data.byteLength;
    this.arrived(node, Buffer.from(data));
  }

  /** Notes that a WebSocket is closed. */
  ended(node: string, socket: WorkerWebSocket, code?: number): void {
    if (code === RETIRED && this.#links.get(node) === socket) {
      const now = performance.now();
      for (const [other, until] of this.#retired) {
        if (until <= now) this.#retired.delete(other);
      }
      this.#retired.set(node, now + REMEMBERED_MS);
    }
    close(socket); // the platform waits for the answer
    this.#fail(node, socket);
  }

  /** Returns whether an object has closed its WebSocket itself, since it was not used any more. */
  hasRetired(node: string): boolean {
    return this.#retired.has(node);
  }

  /** Closes all of them. */
  close(): void {
    const links = [...this.#links];
    this.#links.clear();
    for (const [node, link] of links) {
      if (!Array.isArray(link)) close(link);
      this.lost(node);
    }
  }

  #fail(node: string, link: Link): void {
    if (this.#links.get(node) !== link) return;
    this.#links.delete(node);
    this.lost(node);
  }

  #write(node: string, socket: WorkerWebSocket, message: Uint8Array): void {
    try {
      socket.send(message);
    } catch {
      // It is closed, but its event has not come yet.
      queueMicrotask(() => this.ended(node, socket));
    }
  }
}

function close(socket: WorkerWebSocket): void {
  try {
    socket.close(RETIRED);
  } catch {
    // it is closed, or has never been open
  }
}

/** What {@linkcode ObjectNode} works with. */
interface ObjectNodeParts {
  /** The name of the object. */
  readonly object: string;
  /** Connects it, as a node of that name, with another object. */
  dial(from: string, to: string): Promise<WorkerWebSocket>;
  /** Returns the number of clients that are connected here. */
  clients(): number;
  /** Called every half a minute while the object is of use, for what other objects' messages may have missed. */
  look?(): void;
}

/**
 * A Durable Object as a node of a cluster. Which object is the home of an office follows from its name, so
 * there is nothing to agree on, and no lease: the platform runs one object of a name.
 *
 * An object that has clients, or members of its office, informs the registry by a WebSocket, and closes
 * all of its own once it has none: then it costs nothing.
 */
export class ObjectNode extends ObjectLinks
  implements ClusterMember, TunnelNode {
  readonly name: string;
  readonly node: string;
  readonly routesSessions = true;
  readonly hindrance = undefined;
  readonly homes: TunnelNode["homes"];
  readonly #parts: ObjectNodeParts;
  readonly #offices: ClusterOffices;
  #local: LocalOffices | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(parts: ObjectNodeParts) {
    super();
    const { object } = parts;
    const office = officeOf(object);
    const isRegistry = object === REGISTRY;
    this.#parts = parts;
    this.name = object;
    // Its streams restart with it, unlike those of an object that is reached by its name.
    this.node = office === undefined && !isRegistry
      ? `${object}.${crypto.randomUUID().slice(0, 8)}`
      : object;
    this.homes = {
      // For operators an office that has no object is an empty one.
      has: (name) =>
        isRegistry ? !this.peers.has(homeOf(name)) : name === office,
    };
    this.#offices = new ClusterOffices(this, OFFICE_START_MS);
  }

  // ---------------------------------------------------------------- directory

  readonly isServing = () => true;

  claim(office: string): Promise<Home> {
    const node = this.homes.has(office) ? this.node : homeOf(office);
    return Promise.resolve({ node, leaseLeftMs: OFFICE_START_MS });
  }

  /** Does nothing: messages to other objects may still be queued when its office is empty. */
  readonly release = () => Promise.resolve();

  // ---------------------------------------------------------------- messages

  protected override dial(to: string): Promise<WorkerWebSocket> {
    return this.#parts.dial(this.node, to);
  }

  protected override arrived(node: string, message: Buffer): void {
    this.#offices.received(node, message);
  }

  protected override lost(node: string): void {
    this.#offices.failed(node, "gone");
    if (node === REGISTRY) setTimeout(() => this.#look(), RETRY_MS);
  }

  /** Informs the registry that the object is used, until it is not. */
  use(): void {
    if (this.#parts.object === REGISTRY) return;
    this.connect(REGISTRY);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS);
  }

  #look(): void {
    const isUsed = this.#parts.clients() > 0 ||
      [...this.#local ?? []].length > 0;
    if (isUsed) {
      this.#parts.look?.();
      return this.use();
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#parts.object !== REGISTRY) this.close();
  }

  // ---------------------------------------------------------------- member of a cluster

  get others(): OtherNodes {
    return this.#offices;
  }

  start(_settings: AgreedSettings, local: LocalOffices): Offices {
    this.#local = local;
    return this.#offices.start(local);
  }

  readonly joined = () => Promise.resolve();

  leave(): Promise<void> {
    clearInterval(this.#timer);
    this.#offices.close();
    this.close();
    return Promise.resolve();
  }

  /** The door has sent it here, and it has ended. */
  unknownSession(): void {}

  status(): ClusterStatus {
    return {
      node: this.node,
      leaseMs: OFFICE_START_MS,
      redis: "connected",
      nodes: this.peers.size + 1,
    };
  }

  figures(): ClusterFigures {
    return {
      ...new ClusterCounts(), // most of it cannot happen without Redis
      ...this.counts,
      ...this.#offices.counts,
      queuedBytes: 0,
      homes: [...this.#local ?? []].length,
    };
  }

  /** Homes are not claimed. */
  onClaim(): void {}
}
