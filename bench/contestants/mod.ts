/** The table of all servers that are measured. */
import { startCluster, whyNoCluster } from "./cluster.ts";
import { npmServer } from "./node.ts";
import { here, type Recipe, start, type Target } from "./start.ts";
import { workerdServer } from "./workerd.ts";

/** Starts a server, or several that work together. */
export type Start = () => Promise<Target & AsyncDisposable>;

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
  prepare(folder: string): Promise<Start>;
}

const PERMISSIONS = ["net", "env", "read", "sys"].map((p) => `--allow-${p}`);

const deno = (script: string, args: readonly string[] = []) => ({
  command: Deno.execPath(),
  args: ["run", "--no-prompt", ...PERMISSIONS, script, ...args],
});

/** The only limit that the load would exceed: 1,000 events per second of one connection. */
const OUR_ARGS = ["--port=0", "--max-events-per-second=1000000"];

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

/** A server that is one process. */
export const single = (
  title: string,
  prepare: (folder: string) => Recipe | Promise<Recipe>,
): Contestant => ({
  title,
  prepare: async (folder) => {
    const recipe = await prepare(folder);
    return () => start(recipe, folder);
  },
});

const cluster = (title: string, computersAt: 0 | 1): Contestant => ({
  title,
  prepare: async (folder) => {
    const why = await whyNoCluster();
    if (why !== undefined) throw new Error(why);
    return () => startCluster(folder, ourServer, computersAt);
  },
});

/** All servers that can be measured, by their names on the command line. */
export const CONTESTANTS: Readonly<Record<string, Contestant>> = {
  floor: single("floor: Deno.serve", () => ({
    name: "floor",
    raw: true,
    ...deno(here("floor.ts")),
  })),
  stock: single("stock Socket.IO, Deno", () => ({
    name: "stock",
    ...deno(here("stock.ts")),
  })),
  ours: single("this package, Deno", () => ourServer("ours", [])),
  "ours-fetch": single("this package, Deno.serve", () => ({
    name: "ours-fetch",
    ...deno(here("ours_fetch.ts")),
  })),
  "ours-node": single(
    "this package, Node",
    (folder) => npmServer(folder, "ours-node", "node", OUR_ARGS),
  ),
  "ours-bun": single(
    "this package, Bun",
    (folder) => npmServer(folder, "ours-bun", "bun", OUR_ARGS),
  ),
  "ours-bun-fetch": single(
    "this package, Bun.serve",
    (folder) => npmServer(folder, "ours-bun-fetch", "bun", "ours_bun.ts"),
  ),
  "ours-workers": single(
    "this package, workerd",
    (folder) => workerdServer(folder, "ours-workers", false),
  ),
  "ours-workers-single": single(
    "this package, workerd, one object",
    (folder) => workerdServer(folder, "ours-workers-single", true),
  ),
  same: cluster("two Servers, both ends at one", 0),
  other: cluster("two Servers, the ends at different ones", 1),
};

/** Returns the name of a contestant in tables. */
export const titleOfContestant = (name: string): string =>
  CONTESTANTS[name]?.title ?? name;
