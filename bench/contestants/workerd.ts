import { join } from "node:path";
import { bundle, installForBundles } from "../../tools/npm/bundle.ts";
import { edgeTools } from "../../tests/support/mcp/npm_tools.ts";
import { once } from "./node.ts";
import type { Recipe } from "./start.ts";

/** The program, with the limits of the command that is measured. */
const WORKER = `import { smcpWorker } from "@a2c-smcp/sdk/server/workers";

const { worker, Front, Office } = smcpWorker((env) => ({
  insecure: true,
  single: env.SINGLE,
  limits: { eventsPerSecond: 1_000_000 },
}));
export { Front, Office, worker as default };
`;

/**
 * Runs the server as a Worker, bundled from the npm tarball, by Cloudflare's workerd alone.
 *
 * @param isSingle whether one Durable Object is all of it
 */
export async function workerdServer(
  folder: string,
  name: string,
  isSingle: boolean,
): Promise<Recipe> {
  const cwd = await workerFolder(folder);
  const file = `${name}.capnp`;
  await Deno.writeTextFile(join(cwd, file), capnp(isSingle));
  const tools = await edgeTools();
  return {
    name,
    command: join(tools.folder, "node_modules/workerd/bin/workerd"),
    args: ["serve", "--control-fd=1", file],
    cwd,
  };
}

/** Bundles the Worker, once. */
const workerFolder = (folder: string): Promise<string> =>
  once(join(folder, "worker"), async (cwd) => {
    await installForBundles(cwd);
    const { code } = await bundle(cwd, WORKER, "workerd");
    await Deno.writeTextFile(join(cwd, "worker.mjs"), code);
  });

const capnp = (isSingle: boolean): string =>
  `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-04-20",
  compatibilityFlags = ["nodejs_compat"],
  durableObjectNamespaces = [
    (className = "Front", uniqueKey = "front"),
    (className = "Office", uniqueKey = "office"),
  ],
  durableObjectStorage = (inMemory = void),
  bindings = [
    (name = "FRONT", durableObjectNamespace = "Front"),
    (name = "OFFICE", durableObjectNamespace = "Office"),
    (name = "SINGLE", json = "${isSingle}"),
  ],
);
`;
