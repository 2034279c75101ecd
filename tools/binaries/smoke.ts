/**
 * Starts binaries on the platform that they are for: each has its version, and those with a Server
 * serve, with the console.
 *
 * ```sh
 * deno run -A tools/binaries/smoke.ts dist/smcp dist/smcp-server
 * ```
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { basename, resolve } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { start } from "../../tests/support/child.ts";
import { run } from "../process.ts";

/** How binaries become a Server. */
const SERVERS: Readonly<Record<string, readonly string[]>> = {
  "smcp": ["server"],
  "smcp-server": [],
};

for (const path of Deno.args.map((path) => resolve(path))) {
  const version = await run(path, ["--version"], ".");
  assert(version.startsWith(`${config.name} ${config.version},`), version);
  const name = basename(path, ".exe");
  const args = SERVERS[name];
  if (args !== undefined) await serve(path, args);
  console.log(`${name}: ${version.trim()}`);
}

async function serve(path: string, args: readonly string[]): Promise<void> {
  await using server = start(path, [...args, "--port", "0"]);
  const [url] = await server.line(/http:\/\/[\w.:]+/);
  for (const address of ["/health", "/ready", "/console"]) {
    const response = await fetch(`${url}${address}`);
    assertEquals(response.status, 200, await response.text());
  }
}
