/**
 * The transports of a connection to a Server in Deno, Node and similar runtimes, whose ends can be waited for.
 * Bundles for browsers and Workers have `web_transports.ts` in its place (tools/npm/npm_package.ts).
 *
 * @module
 */
import { NodeWebSocket, NodeXHR } from "socket.io-client";
import { Encoder, type Packet, PacketType } from "socket.io-parser";
import { hasNodeModules } from "../node_modules.ts";
import { CLOSE_TIMEOUT_MS } from "../wire.ts";
import * as webTransports from "./web_transports.ts";
import { writtenOf } from "../../shared/json/written.ts";

/** Writes an answer that is sent as it came, such as a long result of an MCP server, with the text that it has. */
class WrittenEncoder extends Encoder {
  override encode(packet: Packet): ReturnType<Encoder["encode"]> {
    const { type, nsp, id, data } = packet;
    const written = type === PacketType.ACK && data.length === 1
      ? writtenOf(Object(data[0]))
      : undefined;
    if (written === undefined) return super.encode(packet);
    return [`${type}${nsp},${id}[${new TextDecoder().decode(written)}]`];
  }
}

/** The used part of the socket behind a WebSocket of `ws`; that of Bun has neither. */
interface Corkable {
  cork?(): void;
  uncork?(): void;
}

/**
 * Returns the transports of a new connection. Their library reports that one is closed when that has only
 * begun: its WebSocket has yet to close, and its last request to be answered.
 */
export function newTransports(): webTransports.Transports {
  if (!hasNodeModules()) return webTransports.newTransports();
  const open = new Set<Promise<unknown>>();
  const note = (watch: (ended: () => void) => void) => {
    const end: Promise<unknown> = new Promise<void>(watch)
      .then(() => open.delete(end));
    open.add(end);
  };
  return {
    polling: class extends NodeXHR {
      override request(...args: Parameters<NodeXHR["request"]>) {
        const request = super.request(...args);
        if (this.query.sid) { // else there is no session yet that has to end
          note((ended) => request.on("success", ended).on("error", ended));
        }
        return request;
      }
    },
    websocket: class extends NodeWebSocket {
      override createSocket(
        ...given: Parameters<NodeWebSocket["createSocket"]>
      ) {
        const [url, protocols, options] = given;
        const closing = { ...options, closeTimeout: CLOSE_TIMEOUT_MS };
        const socket = super.createSocket(url, protocols, closing);
        note((ended) => socket.addEventListener("close", ended));
        return socket;
      }

      /** Writes all messages that wait as one: many calls, many answers. */
      override write(packets: unknown): void {
        const { _socket: socket }: { _socket?: Corkable } = this.ws ?? {};
        socket?.cork?.();
        super.write(packets);
        socket?.uncork?.();
      }
    },
    async ended() {
      while (open.size > 0) await Promise.all(open);
    },
    encoder: WrittenEncoder,
  };
}
