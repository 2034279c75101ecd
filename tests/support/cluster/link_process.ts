/**
 * A process with links, of its own: `link_process.ts URL NODE OPTIONS SLOW_MS`.
 *
 * Writes a line for all that it hears, and `got N bytes` instead of the message; each one keeps it busy
 * for `SLOW_MS`. It sends {@linkcode ASKED} back.
 */
import { Buffer } from "node:buffer";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { connectRedis } from "../../../server/cluster/redis/connect.ts";
import type { LinkOptions } from "../../../server/cluster/link.ts";
import { type Child, start } from "../child.ts";
import { LinkNode } from "./link_node.ts";

/** The message that it sends back. */
export const ASKED = "are you there?";

/** Starts the process; resolves when it can be met. */
export async function startLinkProcess(
  url: string,
  id: string,
  { slowMs = 0, ...options }: Partial<LinkOptions> & { slowMs?: number } = {},
): Promise<Child> {
  const child = start(Deno.execPath(), [
    "run",
    "-A",
    "--no-check",
    fileURLToPath(import.meta.url),
    url,
    id,
    JSON.stringify(options),
    String(slowMs),
  ]);
  await child.line(/^ready$/);
  return child;
}

if (import.meta.main) {
  const [url = "", id = "", options = "{}", slowMs = "0"] = Deno.args;
  const redis = await connectRedis(url);
  const node = await LinkNode.open(redis, id, JSON.parse(options));
  node.onMessage = (from, message) => {
    const until = performance.now() + Number(slowMs);
    while (performance.now() < until);
    console.log(`got ${message.length} bytes`);
    if (message.equals(Buffer.from(ASKED))) node.send(from, ASKED);
  };
  node.onHeard = (what) => console.log(what);
  console.log("ready");
  process.once("SIGTERM", async () => {
    await node[Symbol.asyncDispose]();
    await redis.close();
    console.log("ended");
  });
}
