/**
 * The network to a Server in Deno, Node and similar runtimes: through a proxy, and with certificates.
 * Bundles for browsers and Workers have `web_network.ts` in its place (tools/npm/npm_package.ts).
 *
 * @module
 */
import { NodeWebSocket, NodeXHR } from "socket.io-client";
import type { UrlOptions } from "./options.ts";
import type { ProxyRoute } from "./proxy.ts";
import { hasNodeModules, nodeModule } from "./node_modules.ts";
import { isTls } from "./server_url.ts";
import * as webNetwork from "./web_network.ts";
import { CLOSE_TIMEOUT_MS } from "./wire.ts";

export { proxyRoute, unreadableExemptions } from "./proxy.ts";
export { checkTls, tlsReason } from "./tls.ts";

/** A request, with what leads it to its Server, and what ends it. */
export interface PageRequest {
  readonly options: Pick<UrlOptions, "url" | "headers" | "tls">;
  /** The route through a proxy, if there is one. */
  readonly route: ProxyRoute | undefined;
  readonly signal: AbortSignal;
}

/**
 * Requests a page without following a redirect.
 *
 * @throws when there is no answer, or none with a body
 */
export async function requestPage(
  url: string,
  request: PageRequest,
): Promise<AsyncIterable<Uint8Array>> {
  if (!hasNodeModules()) return await webNetwork.requestPage(url, request);
  const { options: { headers, tls }, route, signal } = request;
  // `fetch` has no option for certificates and proxies that Deno and Node share.
  const sent = nodeModule(isTls(url) ? "node:https" : "node:http")
    ?.request(url, { ...tls, headers, signal, agent: route?.agent ?? false });
  if (sent === undefined) throw new Error("no node:http");
  return await new Promise((resolve, reject) => {
    sent.on("error", reject);
    sent.on(
      "response",
      (answer) => answer.statusCode === 200 ? resolve(answer) : reject(answer),
    );
    sent.end();
  });
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
export function newTransports(): webNetwork.Transports {
  if (!hasNodeModules()) return webNetwork.newTransports();
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
  };
}
