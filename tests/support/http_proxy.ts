import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import type { Certificate } from "./certificates.ts";

/** A proxy as companies have it: it opens tunnels (CONNECT), and nothing else. */
export interface HttpProxy extends AsyncDisposable {
  /** Its URL, with the credentials that it wants. */
  readonly url: string;
  /** Resolves at the first request for a tunnel. */
  readonly asked: Promise<void>;
  /** Resolves when the first connection has ended. */
  readonly left: Promise<void>;
  /** The targets of tunnels, in the order of their opening. */
  readonly targets: readonly string[];
  /** Cuts all tunnels; later ones are opened as before. */
  cut(): void;
}

/** Options of {@linkcode startHttpProxy}. */
export interface HttpProxyOptions {
  /** `user:password`, without which it answers 407. */
  readonly credentials?: string;
  /** Its certificate, for an `https:` proxy. */
  readonly tls?: Certificate;
  /** The status of its answers, or their absence, in place of a tunnel. */
  readonly refuse?: number | "hang up" | "no answer";
  /** What its 407 asks for; default Basic, that is a user and a password. */
  readonly scheme?: string;
  /** Where it listens; default: a free port of loopback. */
  readonly at?: { readonly host: string; readonly port: number };
}

/**
 * Starts a proxy.
 *
 * @param server the URL of the server to which every tunnel leads, whatever its target
 */
export async function startHttpProxy(
  server: string,
  options: HttpProxyOptions = {},
): Promise<HttpProxy> {
  const { credentials, tls, refuse, scheme = "Basic" } = options;
  const { at = { host: "127.0.0.1", port: 0 } } = options;
  const { hostname, port } = new URL(server);
  const targets: string[] = [];
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const open = new Set<Duplex>();
  const keep = (socket: Duplex) => {
    open.add(socket);
    socket.on("close", () => {
      open.delete(socket);
      left.resolve();
    });
    socket.on("error", () => socket.destroy());
  };
  const wanted = credentials &&
    `Basic ${Buffer.from(credentials).toString("base64")}`;
  const proxy = tls ? createTlsServer(tls) : createServer();
  proxy.on("connect", (request: IncomingMessage, near: Duplex) => {
    keep(near);
    asked.resolve();
    if (refuse === "no answer") {
      near.on("end", () => near.end()).resume();
      return;
    }
    if (refuse === "hang up") return near.destroy();
    const known = request.headers["proxy-authorization"] === wanted;
    const status = refuse ?? (known ? 200 : 407);
    if (status !== 200) {
      const asked = status === 407 ? `Proxy-Authenticate: ${scheme}\r\n` : "";
      near.end(`HTTP/1.1 ${status} No\r\n${asked}Content-Length: 0\r\n\r\n`);
      return;
    }
    targets.push(request.url ?? "");
    const far = connect(Number(port), hostname, () => {
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      near.pipe(far).pipe(near);
    });
    keep(far);
    far.on("close", () => near.destroy());
    near.on("close", () => far.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(at, () => resolve()));
  const address = proxy.address() as AddressInfo;
  const user = credentials ? `${credentials}@` : "";
  const cut = () => open.forEach((socket) => socket.destroy());
  return {
    url: `${tls ? "https" : "http"}://${user}localhost:${address.port}`,
    asked: asked.promise,
    left: left.promise,
    targets,
    cut,
    [Symbol.asyncDispose]: async () => {
      const closed = [
        new Promise((resolve) => proxy.close(resolve)),
        ...[...open].map((socket) =>
          new Promise((resolve) => socket.once("close", resolve))
        ),
      ];
      cut();
      await Promise.all(closed);
    },
  };
}
