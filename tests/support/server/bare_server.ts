import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server, type Socket } from "socket.io";
import { SMCP_NAMESPACE } from "../../../protocol/mod.ts";

/** A plain Socket.IO server in the role of the Server: it records what clients send, and can send anything. */
export interface BareServer extends AsyncDisposable {
  readonly url: string;
  /** Method and query of every HTTP request of Socket.IO, including upgrades, in order. */
  readonly requests: { method: string; query: URLSearchParams }[];
  /** Every connection so far, in order. */
  readonly sockets: Socket[];
  /** Resolves with the connection of an index, from 0, when it is open. */
  connection(index: number): Promise<Socket>;
}

/** Handles an event of a client. */
export type OnBareEvent = (
  socket: Socket,
  event: string,
  ack: (...args: unknown[]) => void,
) => void;

/**
 * Starts a bare server on a free port; accepts every join unless `onEvent` handles it.
 *
 * @param health status and body of its `/health`
 */
export async function startBareServer(
  onEvent: OnBareEvent = (_socket, _event, ack) => ack(true, null),
  [status, body]: readonly [number, string] = [404, ""],
): Promise<BareServer> {
  const http = createServer(({ url }, response) => {
    if (url === "/health") {
      response.writeHead(status, { location: "/elsewhere" }).end(body);
    }
  });
  const requests: BareServer["requests"] = [];
  const io = new Server(http, { path: "/smcp/" });
  for (const event of ["request", "upgrade"] as const) {
    http.prependListener(event, ({ method = "", url = "" }) => {
      if (url === "/health") return;
      requests.push({ method, query: new URLSearchParams(url.split("?")[1]) });
    });
  }
  const sockets: Socket[] = [];
  const waiting = new Set<() => void>();
  io.of(SMCP_NAMESPACE).on("connection", (socket) => {
    sockets.push(socket);
    socket.onAny((event: string, ...args: unknown[]) => {
      const ack = args.at(-1);
      onEvent(
        socket,
        event,
        (...answer) => typeof ack === "function" && ack(...answer),
      );
    });
    for (const wake of waiting) wake();
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests,
    sockets,
    async connection(index) {
      while (true) {
        const socket = sockets[index];
        if (socket) return socket;
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
    [Symbol.asyncDispose]: () => io.close(),
  };
}
