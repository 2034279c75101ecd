/**
 * The Python SDKs of 0.2 and 0.4 as Agent and Computer at a Server in workerd, through all features of
 * tests/interop.
 *
 * @module
 */
import {
  CASTS,
  playCast,
  SCREEN_TIMEOUT_MS,
} from "../../interop/support/casts.ts";
import { endWorkers, startWorker } from "../../support/edge/workerd.ts";

Deno.test.afterAll(endWorkers);

for (const cast of CASTS) {
  const { sdk, agent, server, computer } = cast;
  if (server !== "our" || (sdk !== "0.2" && sdk !== "0.4")) continue;
  Deno.test({
    name: `${sdk}: ${agent} Agent, ${computer} Computer, at a Worker`,
    timeout: SCREEN_TIMEOUT_MS,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async (t) => {
      await using worker = await startWorker({
        OPTIONS: { insecure: true, protocol: sdk },
      });
      await playCast(t, cast, worker.url);
    },
  });
}
