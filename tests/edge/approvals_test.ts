/**
 * What a device and a Computer say to each other on every runtime: the same program in Node, Bun and
 * Cloudflare's workerd. Deno and browsers run it elsewhere.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findBun } from "../../tools/npm/bun.ts";
import { findNode, NODE_VERSIONS } from "../../tools/npm/node.ts";
import { run } from "../../tools/process.ts";
import { startPuppet } from "../interop/support/puppet.ts";
import { RFC_8291 } from "../support/approvals/rfc8291.ts";
import { edgeTools } from "../support/mcp/npm_tools.ts";
import { scratch } from "../support/scratch.ts";

const SOURCES = fileURLToPath(
  new URL("../support/approvals/", import.meta.url),
);
const HOST = fileURLToPath(
  new URL("../support/edge/host.mjs", import.meta.url),
);

const PROGRAM = `import { coreFlow } from "./flow.mjs";
console.log(JSON.stringify(await coreFlow()));
`;
const PUSH = `import { pushExample } from "./push_flow.mjs";
console.log(await pushExample());
`;
const WORKER = `import { coreFlow } from "./flow.mjs";
export default { fetch: async () => Response.json(await coreFlow()) };
`;

/** What the Computer of the program gets. */
const ANSWERS = ["once"];

/** Writes the programs into a folder, with all that they import. */
async function bundled() {
  const folder = await scratch();
  const path = (name: string) => join(folder.path, name);
  const bundle = (source: string, output: string) =>
    run(Deno.execPath(), [
      ...["bundle", "--quiet", "--platform", "browser"],
      ...["-o", path(output), join(SOURCES, source)],
    ], SOURCES);
  await bundle("core_flow.ts", "flow.mjs");
  await bundle("rfc8291.ts", "push_flow.mjs");
  await Deno.writeTextFile(path("main.mjs"), PROGRAM);
  await Deno.writeTextFile(path("push.mjs"), PUSH);
  await Deno.writeTextFile(path("worker.mjs"), WORKER);
  return folder;
}

Deno.test(
  "a device pairs and answers in Node, with the vectors of RFC 9180 and RFC 8291",
  {
    timeout: 600_000,
  },
  async () => {
    await using folder = await bundled();
    for (const version of NODE_VERSIONS) {
      const node = await findNode(version);
      const output = await run(node, ["main.mjs"], folder.path);
      assertEquals(JSON.parse(output), ANSWERS, `Node ${version}`);
      const push = await run(node, ["push.mjs"], folder.path);
      assertEquals(push.trim(), RFC_8291.body, `Node ${version}`);
    }
  },
);

Deno.test(
  "a device pairs and answers in Bun, with the vectors of RFC 9180 and RFC 8291",
  {
    timeout: 600_000,
  },
  async () => {
    await using folder = await bundled();
    const bun = await findBun();
    const output = await run(bun, ["main.mjs"], folder.path);
    assertEquals(JSON.parse(output), ANSWERS);
    const push = await run(bun, ["push.mjs"], folder.path);
    assertEquals(push.trim(), RFC_8291.body);
  },
);

Deno.test(
  "a device pairs and answers in workerd, with the vector of RFC 9180",
  { timeout: 600_000 },
  async () => {
    await using folder = await bundled();
    const tools = await edgeTools();
    await using host = await startPuppet([
      tools.node,
      HOST,
      `${tools.folder}/`,
    ]);
    const modules = ["worker.mjs", "flow.mjs"].map((name) => ({
      type: "ESModule",
      path: join(folder.path, name),
    }));
    const url = await host.call("start", 1, {
      modules,
      modulesRoot: folder.path,
      compatibilityDate: "2025-09-01",
      cf: false,
      host: "127.0.0.1",
      port: 0,
    });
    const answer = await fetch(String(url));
    assertEquals(await answer.json(), ANSWERS);
  },
);
