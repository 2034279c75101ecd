import {
  createSmcpServer,
  type SmcpServer,
  type SmcpServerOptions,
} from "../../../server/mod.ts";
import { pollingEnds } from "../wire/polling_ends.ts";

/** For sessions over polling that fail while no request waits: Engine.IO leaves a timer of half a minute. */
export const LEAVES_TIMER = { sanitizeOps: false, sanitizeResources: false };

/** A server on a free port of loopback. */
export interface WireServer extends AsyncDisposable {
  readonly smcp: SmcpServer;
  /** For requests over HTTP: reading it makes the end of the scope wait for the last ones. */
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

/** Defines a test for each engine, with a server of it: peers must not see a difference. */
export function onEachEngine(
  name: string,
  test: (server: WireServer) => Promise<void>,
  options: SmcpServerOptions = {},
  definition: Partial<Deno.TestDefinition> = {},
): void {
  for (const wsEngine of ["fast", "stock"] as const) {
    Deno.test({
      ...definition,
      name: `${name} [${wsEngine}]`,
      fn: async () => {
        await using server = await startWireServer({ ...options, wsEngine });
        await test(server);
      },
    });
  }
}
