/**
 * The Agent of the measurement of blobs, a process of its own: `agent.ts URL WHAT BYTES FILE`.
 *
 * Prints one line of JSON: what it took, and its memory in MiB.
 *
 * @module
 */
import { createHash } from "node:crypto";
import process from "node:process";
import { SmcpAgent } from "../../agent/mod.ts";
import type { Transfer } from "./result.ts";

const [url = "", what, bytes, file = ""] = process.argv.slice(2);
const memory = () => process.memoryUsage().rss / 2 ** 20;

await using agent = new SmcpAgent({ url, name: "bench" });
await agent.connect();
await agent.join("blobs");
await agent.toolsSettled();
const [tool = ""] = [...agent.tools.values()].flat().map(({ name }) => name);

/** Calls the tool that answers with the bytes; leaves them out, or in. */
const pictures = async (blobs: "keep" | "restore") => {
  const { content, isError } = await agent.callTool("pc", tool, {
    sizes: [Number(bytes)],
  }, { blobs, timeoutMs: 600_000 });
  const [told, image] = content;
  if (isError || image?.type !== "image") throw new Error(told?.text);
  return { digest: told?.text, image };
};

const ways: Record<Transfer, () => Promise<boolean>> = {
  async stream() {
    const { digest, image } = await pictures("keep");
    const hash = createHash("sha256");
    const handle = String(image._meta?.a2c_blob_handle);
    for await (const chunk of agent.openBlob("pc", handle)) hash.update(chunk);
    return hash.digest("hex") === digest;
  },
  async result() {
    const { digest, image } = await pictures("restore");
    const hash = createHash("sha256").update(image.data, "base64");
    return hash.digest("hex") === digest;
  },
  async put() {
    return (await agent.putFile("pc", file)).size === Number(bytes);
  },
};

const before = memory();
let peak = before;
const sampling = setInterval(() => peak = Math.max(peak, memory()), 20);
const start = performance.now();
const isWhole = await ways[what as Transfer]();
const seconds = (performance.now() - start) / 1000;
clearInterval(sampling);
console.log(JSON.stringify({ isWhole, seconds, before, peak }));
