import {
  createFetchServer,
  type FetchServer,
  type FetchServerOptions,
} from "../../../server/fetch/mod.ts";
import type { ListenAddress, ListenOptions } from "../../../server/mod.ts";

/** A handler that `Deno.serve` calls. */
export interface ServedHandler extends AsyncDisposable {
  /** Where it is reached. */
  readonly address: ListenAddress;
}

/** Serves a handler; the end of its scope cuts off all connections. */
export function serveHandler(
  handler: FetchServer["fetch"],
  { hostname = "127.0.0.1", port = 0, tls }: ListenOptions = {},
): ServedHandler {
  const abort = new AbortController();
  const server = Deno.serve({
    hostname,
    port,
    signal: abort.signal,
    onListen() {},
    ...tls,
  }, handler);
  const scheme = tls === undefined ? "http" : "https";
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    address: {
      url: `${scheme}://${host}:${server.addr.port}`,
      hostname,
      port: server.addr.port,
    },
    async [Symbol.asyncDispose]() {
      abort.abort();
      await server.finished;
    },
  };
}

/** A server behind `Deno.serve` on a free port of loopback. */
export interface ServedFetch extends AsyncDisposable {
  readonly smcp: FetchServer;
  readonly url: string;
  readonly port: number;
}

/** Starts a server in this process. */
export function startFetchServer(
  options: FetchServerOptions = {},
): ServedFetch {
  const smcp = createFetchServer(options);
  const served = serveHandler(smcp.fetch);
  const { url, port } = served.address;
  return {
    smcp,
    url,
    port,
    async [Symbol.asyncDispose]() {
      await smcp.close({ graceMs: 0 });
      await served[Symbol.asyncDispose]();
    },
  };
}

/** Waits for the clients' ends, which close after the server's: until then their library has timers. */
export async function clientsEnd(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await new Promise<void>((resolve) => setTimeout(resolve, 10));
  }
}
