import { lookup } from "node:dns/promises";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A Unix socket at which something outside of a machine is reached. */
export type Outside = AsyncDisposable;

/** Serves a Unix socket as an HTTP proxy (`CONNECT`) to where this machine gets its packages from. */
export function serveRegistries(path: string): Promise<Outside> {
  const upstream = upstreamProxy();
  if (upstream) {
    return serve(path, createServer((near) => join(near, upstream)));
  }
  const proxy = createHttpServer((_, response) =>
    response.writeHead(501).end()
  );
  proxy.on("connect", (request, near: Socket) => {
    const { hostname, port } = new URL(`http://${request.url}`);
    join(near, { host: hostname, port: Number(port || 443) }, () => {
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
    });
  });
  return serve(path, proxy);
}

/** Serves a Unix socket that leads to a port of loopback. */
export const servePort = (path: string, port: number): Promise<Outside> =>
  serve(path, createServer((near) => join(near, { host: "127.0.0.1", port })));

/** The proxy that this machine itself needs. */
function upstreamProxy(): { host: string; port: number } | undefined {
  const value = Deno.env.get("HTTPS_PROXY") ?? Deno.env.get("https_proxy");
  if (!value) return undefined;
  const { hostname, port } = new URL(value);
  return { host: hostname, port: Number(port || 80) };
}

/** The lookups under way, which outlive the sockets that they are for. */
const lookups = new Set<Promise<unknown>>();

async function join(
  near: Socket,
  { host, port }: { host: string; port: number },
  connected = () => {},
): Promise<void> {
  near.on("error", () => near.destroy());
  const looking = lookup(host).catch(() => undefined);
  lookups.add(looking);
  const found = await looking;
  lookups.delete(looking);
  if (found === undefined) near.destroy();
  if (found === undefined || near.destroyed) return;
  const far = connect({ host: found.address, port }, connected);
  for (const [one, other] of [[near, far], [far, near]] as const) {
    one.on("error", () => other.destroy());
    one.on("close", () => other.destroy());
    one.pipe(other);
  }
}

async function serve(path: string, server: Server): Promise<Outside> {
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  server.listen(path);
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await Promise.all([closed, ...lookups]);
    },
  };
}
