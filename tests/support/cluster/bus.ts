import { Buffer } from "node:buffer";
import { ClusterOffices } from "../../../server/cluster/cluster_offices.ts";
import type { Directory } from "../../../server/cluster/directory.ts";
import type { Messenger } from "../../../server/cluster/link.ts";
import {
  decodeFrame,
  encodeHead,
  Kind,
} from "../../../server/cluster/tunnel_frames.ts";
import { PROFILES } from "../../../protocol/profiles.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import type { SmcpServerOptions } from "../../../server/options.ts";
import { newCluster } from "../../../server/shared/cluster.ts";
import { fakeMember } from "./fake_member.ts";

/** Long, since joins are held that long where a node does not answer, and stalls of the test count. */
const LEASE_MS = 60_000;

/** Servers of one process that share their offices, without Redis: what passes between them is in memory. */
export class Bus {
  readonly #nodes = new Map<string, ClusterOffices>();
  readonly #homes = new Map<string, string>();
  /** Whether messages are passed on; otherwise they cannot be sent. */
  isConnected = true;
  /** The frames that were sent so far: who sends to whom. */
  readonly sent: string[] = [];
  /** The nodes whose build is older than approvals. */
  readonly older = new Set<string>();

  /** Starts a server as the node `name`. */
  async serve(name: string, options: SmcpServerOptions = {}) {
    const { cluster, offices } = this.join(name);
    const server = createSmcpServer({ ...options, cluster });
    const { url } = await server.listen();
    return { server, url, offices };
  }

  /** Makes the node `name`, for a server. */
  join(name: string) {
    const nodes = this.#nodes;
    const offices = new ClusterOffices({
      ...this.#directory(name),
      ...this.#links(name),
      get peers() {
        return new Set([...nodes.keys()].filter((node) => node !== name));
      },
      isServing: () => true,
    }, LEASE_MS);
    this.#nodes.set(name, offices);
    const leave = async () => {
      await turn(); // what is on its way arrives
      offices.close();
      this.#nodes.delete(name);
      this.#free(name);
      for (const other of this.#nodes.values()) other.failed(name, "gone");
    };
    const status = () => ({
      node: name,
      leaseMs: LEASE_MS,
      redis: "connected" as const,
      nodes: this.#nodes.size,
    });
    const member = fakeMember(offices, { leave, status });
    return { cluster: newCluster(member), offices };
  }

  /** The node that is the home of an office. */
  homeOf(office: string): string | undefined {
    return this.#homes.get(office);
  }

  /** Ends what passes between a node and another, as a node that finds the other one silent. */
  lose(node: string, other: string): void {
    this.#nodes.get(node)?.failed(other, "silent");
  }

  /** Fences a node, whose homes are free. */
  fence(name: string): void {
    this.#nodes.get(name)?.fence("its lease has ended");
    this.#free(name);
    for (const other of this.#nodes.values()) other.failed(name, "gone");
  }

  #free(name: string): void {
    for (const [office, home] of [...this.#homes]) {
      if (home === name) this.#homes.delete(office);
    }
  }

  #directory(node: string): Directory {
    const homes = this.#homes;
    return {
      node,
      homes: { has: (office) => homes.get(office) === node },
      async claim(office) {
        await turn();
        const home = homes.get(office) ?? node;
        homes.set(office, home);
        await turn();
        return { node: home, leaseLeftMs: LEASE_MS };
      },
      release(office) {
        if (homes.get(office) === node) homes.delete(office);
        return Promise.resolve();
      },
    };
  }

  #links(from: string): Omit<Messenger, "peers"> {
    const nodes = this.#nodes;
    return {
      maxMessageBytes: 2 ** 24,
      send: (to, _stream, message) => {
        if (!this.isConnected || !nodes.has(to)) return "away";
        this.sent.push(`${from} to ${to}`);
        const bytes = Buffer.concat(message);
        const refusal = this.older.has(to) ? refusedByOlder(bytes) : undefined;
        const taken = this.older.has(from) ? sentByOlder(bytes) : bytes;
        setTimeout(() => {
          if (refusal === undefined) nodes.get(to)?.received(from, taken);
          else if (refusal) nodes.get(from)?.received(to, refusal);
        }, 0);
        return "sent";
      },
    };
  }
}

/**
 * Returns how a node that is older than approvals refuses a frame, or null where it drops it. It takes all others,
 * as it was found with that build.
 */
function refusedByOlder(bytes: Buffer): Buffer | null | undefined {
  const { kind, stream, text } = decodeFrame(bytes);
  if (kind === Kind.event && text === "client:device") return null;
  if (kind !== Kind.open) return undefined;
  const { protocol } = JSON.parse(text);
  if (Object.hasOwn(PROFILES, protocol)) return undefined;
  const refused = `The server of this office is older than ${protocol}`;
  const refusal = JSON.stringify({ refusal: { refused } });
  return encodeHead({ kind: Kind.refused, stream, text: refusal });
}

/** Leaves the devices of a Computer out, of which an older node does not know. */
function sentByOlder(bytes: Buffer): Buffer {
  const { kind, stream, text } = decodeFrame(bytes);
  if (kind !== Kind.open) return bytes;
  const { devices: _, ...opening } = JSON.parse(text);
  return encodeHead({ kind, stream, text: JSON.stringify(opening) });
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
