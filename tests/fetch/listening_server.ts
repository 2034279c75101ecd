/**
 * `server/mod.ts` with the entry for `fetch` behind `createSmcpServer()`, in whose place the suites of
 * `suites_test.ts` import this module.
 *
 * @module
 */
import {
  createFetchServer,
  type FetchServerOptions,
} from "../../server/fetch/mod.ts";
import type { SmcpServer, SmcpServerOptions } from "../../server/mod.ts";
import {
  clientsEnd,
  type ServedHandler,
  serveHandler,
} from "../support/server/fetch_server.ts";
import { pollingEnds } from "../support/wire/polling_ends.ts";

export * from "../../server/mod.ts";

/** Creates a server whose `listen()` is `Deno.serve()`. */
export function createSmcpServer(
  options: SmcpServerOptions = {},
): SmcpServer {
  // The engine of tests/wire that stands for this entry; the other one is refused as any option is.
  const { wsEngine, ...rest } = options;
  const smcp = createFetchServer(
    (wsEngine === "fast" ? rest : options) as FetchServerOptions,
  );
  const served: ServedHandler[] = [];
  const missing = (name: string) => () => {
    throw new TypeError(`The entry for fetch has no ${name}`);
  };
  let hasPolled = false;
  const handler: typeof smcp.fetch = (request, info) => {
    hasPolled ||= request.url.includes("transport=polling");
    return smcp.fetch(request, info);
  };
  const close: SmcpServer["close"] = async (options) => {
    await smcp.close(options);
    await Promise.all(
      served.splice(0).map((each) => each[Symbol.asyncDispose]()),
    );
  };
  return {
    get app() {
      return missing("app")();
    },
    get stats() {
      return smcp.stats;
    },
    attach: missing("attach"),
    listenMetrics: missing("listenMetrics"),
    reloadTls: missing("reloadTls"),
    // deno-lint-ignore require-await -- as that of the interface
    async listen(to) {
      const started = serveHandler(handler, to);
      served.push(started);
      return started.address;
    },
    connect: (options) => smcp.connect(options),
    recheckSessions: () => smcp.recheckSessions(),
    close,
    async [Symbol.asyncDispose]() {
      await close();
      await clientsEnd();
      if (hasPolled) await pollingEnds()[Symbol.asyncDispose]();
    },
  };
}
