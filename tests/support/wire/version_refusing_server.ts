import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";

/** A server that refuses every version. */
export interface VersionRefusingServer extends AsyncDisposable {
  /** Its address. */
  readonly url: string;
  /** The versions that were sent, in order. */
  readonly versions: (string | null)[];
}

/**
 * Starts a server that answers every request with 4008, but for one for its health, which it lacks.
 *
 * @param serverVersion returns the version that it claims to speak; `undefined`: it answers 404
 * @param closeCode accepts WebSockets, and closes them with this code
 * @param delayMs before the answer to a request that is no WebSocket's
 */
export async function versionRefusingServer(
  serverVersion: (sent: string | null) => string | undefined,
  { closeCode, delayMs = 0 }: { closeCode?: number; delayMs?: number } = {},
): Promise<VersionRefusingServer> {
  const versions: (string | null)[] = [];
  const answer = (target = "") => {
    const { pathname, searchParams } = new URL(target, "http://host");
    if (pathname === "/health") return { status: 404, body: "" };
    const sent = searchParams.get("a2c_version");
    versions.push(sent);
    const version = serverVersion(sent);
    const body = version === undefined ? "" : JSON.stringify({
      code: 4008,
      message: "Protocol version mismatch",
      server_version: version,
      client_version: sent,
    });
    return { status: version === undefined ? 404 : 400, body };
  };
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer((request, response) => {
    const { status, body } = answer(request.url);
    setTimeout(() => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(body);
    }, delayMs);
  });
  server.on("upgrade", (request, socket, head) => {
    const { body } = answer(request.url);
    if (closeCode !== undefined) {
      return sockets.handleUpgrade(
        request,
        socket,
        head,
        (ws) => ws.close(closeCode),
      );
    }
    socket.end(
      `HTTP/1.1 400 Bad Request\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    versions,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
