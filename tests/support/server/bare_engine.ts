import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server as Engine } from "engine.io";
import { Server } from "socket.io";
import { closeServer } from "../../../server/http/listen.ts";
import { wsEngineOption } from "../../../server/wire/stock_engine.ts";
import { MIN_UPLOAD_RATE } from "../../../server/limits/limits.ts";
import { guardedParser } from "../../../server/wire/packet_decoder.ts";

/** The server's own engine and parser, without the rest of the server. */
export interface BareEngine extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
}

/**
 * Starts an engine on a free port.
 *
 * @param prepare called with the Socket.IO server, before the first client connects
 * @param options further options of Engine.IO
 */
export async function startBareEngine(
  prepare: (io: Server) => void,
  options: { pingInterval?: number } = {},
): Promise<BareEngine> {
  const limits = { bytesPerSecond: MIN_UPLOAD_RATE, bytes: Infinity };
  const engine = new Engine({
    ...wsEngineOption("fast", limits, Infinity),
    ...options,
  });
  const parser = guardedParser(() => ({
    judge: () => undefined,
    hold: () => {},
    refuse: (reason: string) => {
      throw new Error(reason);
    },
  }));
  const io = new Server({ parser, cleanupEmptyChildNamespaces: true });
  io.bind(engine);
  prepare(io);
  type Of<Name extends "handleRequest" | "handleUpgrade"> = Parameters<
    Engine[Name]
  >[0];
  const http = createServer((request, response) => {
    if (request.url === "/health") return response.writeHead(404).end();
    engine.handleRequest(request as Of<"handleRequest">, response);
  });
  http.on(
    "upgrade",
    (request, socket, head) =>
      engine.handleUpgrade(request as Of<"handleUpgrade">, socket, head),
  );
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async [Symbol.asyncDispose]() {
      await io.close();
      await closeServer(http);
    },
  };
}
