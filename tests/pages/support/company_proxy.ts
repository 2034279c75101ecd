/**
 * Inside a machine of {@linkcode startMachine}: the proxy that docs/getting-started.md names.
 *
 * The argument is the address of the Server, which is reached through the proxy alone: `tcp://HOST:PORT`.
 *
 * @module
 */
import { startHttpProxy } from "../../support/http_proxy.ts";

const [address = ""] = Deno.args;
await startHttpProxy(address, {
  credentials: "user:p@ssword",
  at: { host: "0.0.0.0", port: 3128 },
});
console.log("proxying");
