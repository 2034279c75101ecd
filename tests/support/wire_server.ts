import {
  createSmcpServer,
  type SmcpServer,
  type SmcpServerOptions,
} from "../../server/mod.ts";

import { pollingEnds } from "./polling_ends.ts";

/** What carries WebSockets. */
export type WsEngine = NonNullable<SmcpServerOptions["wsEngine"]>;

/** A server on a free port of loopback. */
export interface WireServer extends AsyncDisposable {
  readonly smcp: SmcpServer;
  readonly url: string;
  readonly port: number;
}

/** Starts a server in this process. */
export async function startWireServer(
  options: SmcpServerOptions = {},
): Promise<WireServer> {
  const ends = pollingEnds();
  const smcp = createSmcpServer(options);
  const { url, port } = await smcp.listen({ port: 0 });
  return {
    smcp,
    url,
    port,
    async [Symbol.asyncDispose]() {
      await smcp.close({ graceMs: 0 });
      await ends[Symbol.asyncDispose]();
    },
  };
}

/** Defines a test for each of the engines: what peers see of them must not differ. */
export function onEachEngine(
  name: string,
  test: (
    start: (options?: SmcpServerOptions) => Promise<WireServer>,
    engine: WsEngine,
  ) => Promise<void>,
): void {
  for (const wsEngine of ["fast", "stock"] as const) {
    Deno.test(`${name} [${wsEngine}]`, () =>
      test((options) => startWireServer({ ...options, wsEngine }), wsEngine));
  }
}
