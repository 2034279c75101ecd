import {
  createSmcpServer,
  type SmcpServer,
  type SmcpServerOptions,
} from "../../../server/mod.ts";

import { pollingEnds } from "../wire/polling_ends.ts";

/** The WebSocket implementation. */
export type WsEngine = NonNullable<SmcpServerOptions["wsEngine"]>;

/** For {@linkcode onEachEngine}. */
export const LEAVES_TIMER = { sanitizeOps: false, sanitizeResources: false };

/** A server on a free port of loopback. */
export interface WireServer extends AsyncDisposable {
  readonly smcp: SmcpServer;
  /** For requests over HTTP: whoever reads it makes the end of the scope wait for the last ones. */
  readonly url: string;
  readonly port: number;
}

/** Starts a server in this process. */
export async function startWireServer(
  options: SmcpServerOptions = {},
): Promise<WireServer> {
  let hasRequests = false;
  const smcp = createSmcpServer(options);
  const { url, port } = await smcp.listen({ port: 0 });
  return {
    smcp,
    get url() {
      hasRequests = true;
      return url;
    },
    port,
    async [Symbol.asyncDispose]() {
      await smcp.close({ graceMs: 0 });
      if (hasRequests) await pollingEnds()[Symbol.asyncDispose]();
    },
  };
}

/**
 * Defines a test for each engine: peers must not see a difference.
 *
 * @param options such as no leak checks where Engine.IO leaves a timer of half a minute behind: a
 * session over polling that fails while no request waits
 */
export function onEachEngine(
  name: string,
  test: (
    start: (options?: SmcpServerOptions) => Promise<WireServer>,
    engine: WsEngine,
  ) => Promise<void>,
  options: Partial<Deno.TestDefinition> = {},
): void {
  for (const wsEngine of ["fast", "stock"] as const) {
    Deno.test({
      ...options,
      name: `${name} [${wsEngine}]`,
      fn: () =>
        test((more) => startWireServer({ ...more, wsEngine }), wsEngine),
    });
  }
}
