import { Buffer } from "node:buffer";
import type { Messenger } from "../../../server/cluster/links/links.ts";
import { Switchboard } from "../../../server/cluster/switchboard/switchboard.ts";
import { createSmcpServer, MemoryRegistry } from "../../../server/mod.ts";
import { newCluster } from "../../../server/offices/cluster.ts";
import type { SmcpServerOptions } from "../../../server/options.ts";
import type { ProtocolName } from "../../../protocol/mod.ts";
import type { Seat } from "../../../server/shared/member.ts";
import type { OfficeRegistry } from "../../../server/offices/registry.ts";
import { fakeMember } from "./fake_member.ts";

/** Servers of one process that share their offices, without Redis: what passes between them is in memory. */
export class Bus {
  readonly #nodes = new Map<string, Switchboard>();
  readonly #homes = new Map<string, string>();
  readonly #registries = new Map<ProtocolName, MemoryRegistry>();
  /** Whether messages are passed on; otherwise they cannot be sent. */
  isConnected = true;

  /** Starts a server as the node `name`. */
  async serve(name: string, options: SmcpServerOptions = {}) {
    const { cluster, switchboard } = this.join(name);
    const server = createSmcpServer({ ...options, cluster });
    const { url } = await server.listen();
    return { server, url, switchboard };
  }

  /** Makes the node `name`, for a server. */
  join(name: string) {
    const switchboard = new Switchboard({
      directory: () => ({
        node: name,
        registry: (protocol) => this.#registry(name, protocol),
      }),
      links: () => this.#links(name),
      isServing: () => true,
    });
    this.#nodes.set(name, switchboard);
    const leave = async () => {
      switchboard.questions.end();
      await turn(); // what is on its way arrives
    };
    const cluster = newCluster(fakeMember(switchboard, { leave }));
    return { cluster, switchboard };
  }

  /** Tells a node that messages from or to another may be missing. */
  lose(node: string, other: string): void {
    this.#nodes.get(node)?.lost(other);
  }

  #registry(node: string, protocol: ProtocolName): OfficeRegistry {
    const memory = this.#registries.get(protocol) ?? new MemoryRegistry();
    this.#registries.set(protocol, memory);
    const withNode = (seat: Seat): Seat => {
      const home = this.#homes.get(seat.socket);
      return home === undefined ? seat : { ...seat, node: home };
    };
    return {
      claim: async (wanted, ...rest) => {
        await turn();
        const claim = memory.claim(wanted, ...rest);
        if (claim.kind !== "admit") return claim;
        this.#homes.set(wanted.socket, node);
        await turn();
        return {
          ...claim,
          ...(claim.evict && { evict: withNode(claim.evict) }),
          ...(claim.seats && { seats: claim.seats.map(withNode) }),
        };
      },
      release: async (member) => {
        await turn();
        return memory.release(member);
      },
      list: async (office) => {
        await turn();
        return memory.list(office).map(withNode);
      },
    };
  }

  #links(from: string): Messenger {
    const nodes = this.#nodes;
    return {
      peers: new Set([...nodes.keys()].filter((node) => node !== from)),
      maxMessageBytes: 2 ** 24,
      send: (to, _stream, message) => {
        if (!this.isConnected) return "away";
        const bytes = Buffer.concat(message);
        setTimeout(() => nodes.get(to)?.received(from, bytes), 0);
        return "sent";
      },
    };
  }
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
