import { bunPackage, bunScript, nodePackage, nodeScript } from "./node.ts";
import { pythonServer } from "./python.ts";
import { here, type Recipe } from "./running.ts";
import { rustServer } from "./rust.ts";
import { workerdServer } from "./workerd.ts";

/** A server that can be measured. */
export interface Contestant {
  /** Its name in tables and plots. */
  readonly title: string;
  /**
   * Prepares it: builds and installs.
   *
   * @param folder a folder for temporary files
   * @throws {Error} when this machine cannot run it
   */
  prepare(folder: string): Promise<Recipe>;
}

const PERMISSIONS = ["net", "env", "read", "sys"].map((p) => `--allow-${p}`);

const deno = (script: string, args: readonly string[] = []) => ({
  command: Deno.execPath(),
  args: ["run", "--no-prompt", ...PERMISSIONS, script, ...args],
});

const OUR_ARGS = [
  "--port=0",
  // The only limit that the load would exceed: 1,000 events per second of one connection.
  "--max-events-per-second=1000000",
];

/** How to start this package's Server with arguments, and all limits at their defaults. */
export const limitedServer = (
  name: string,
  args: readonly string[],
): Recipe => ({ name, ...deno("server/main.ts", ["--port=0", ...args]) });

/** How to start this package's Server with further arguments. */
export const ourServer = (name: string, args: readonly string[]): Recipe => ({
  name,
  ...deno("server/main.ts", [...OUR_ARGS, ...args]),
});

/** All servers that can be measured, by their names on the command line. */
export const CONTESTANTS: Readonly<Record<string, Contestant>> = {
  floor: {
    title: "floor: Deno.serve",
    prepare: () =>
      ready({ name: "floor", raw: true, ...deno(here("floor_deno.ts")) }),
  },
  "ws-deno": {
    title: "bare ws, Deno",
    prepare: () =>
      ready({ name: "ws-deno", raw: true, ...deno(here("floor_ws.ts")) }),
  },
  "ws-node": {
    title: "bare ws, Node",
    prepare: (folder) => nodeScript(folder, "ws-node", "floor_ws.ts", true),
  },
  stock: {
    title: "stock Socket.IO, Deno",
    prepare: () => ready({ name: "stock", ...deno(here("stock.ts")) }),
  },
  "stock-node": {
    title: "stock Socket.IO, Node",
    prepare: (folder) => nodeScript(folder, "stock-node", "stock.ts", false),
  },
  ours: {
    title: "this package, Deno",
    prepare: () => ready(ourServer("ours", [])),
  },
  "ours-fetch": {
    title: "this package, Deno.serve",
    prepare: () =>
      ready({ name: "ours-fetch", ...deno(here("ours_fetch.ts")) }),
  },
  "ours-node": {
    title: "this package, Node",
    prepare: (folder) => nodePackage(folder, "ours-node", OUR_ARGS),
  },
  "python-0.1": {
    title: "Python SDK 0.1",
    prepare: () => pythonServer("python-0.1", "0.1"),
  },
  "python-0.2": {
    title: "Python SDK 0.2",
    prepare: () => pythonServer("python-0.2", "0.2"),
  },
  rust: { title: "Rust SDK", prepare: () => rustServer("rust") },
  "ours-bun": {
    title: "this package, Bun",
    prepare: (folder) => bunPackage(folder, "ours-bun", OUR_ARGS),
  },
  "ours-bun-fetch": {
    title: "this package, Bun.serve",
    prepare: (folder) => bunScript(folder, "ours-bun-fetch", "ours_bun.ts"),
  },
  "ours-workers": {
    title: "this package, workerd",
    prepare: (folder) => workerdServer(folder, "ours-workers", false),
  },
  "ours-workers-single": {
    title: "this package, workerd, one object",
    prepare: (folder) => workerdServer(folder, "ours-workers-single", true),
  },
};

const ready = (recipe: Recipe): Promise<Recipe> => Promise.resolve(recipe);
