import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import config from "../../../deno.json" with { type: "json" };
import { bundle, installForBundles } from "../../../tools/npm/bundle.ts";
import { type Puppet, startPuppet } from "../../interop/support/puppet.ts";
import { blockOf } from "../../pages/support/scene.ts";
import { edgeTools } from "../mcp/npm_tools.ts";
import type { Bindings } from "./server_worker.ts";

/** The variable with the folder of the bundles, for files that run in processes of a test. */
export const BUNDLES = "SMCP_TEST_WORKERS";

/** The folder of the example. */
const EXAMPLE = new URL("../../../examples/cloudflare/", import.meta.url);

const textOf = (file: string, base: string | URL) => () =>
  Deno.readTextFile(new URL(file, base));

/** The programs, bundled from the npm tarball. */
const PROGRAMS = {
  server: textOf("server_worker.ts", import.meta.url),
  agent: textOf("agent_worker.ts", import.meta.url),
  example: textOf("index.ts", EXAMPLE),
  page: async () => {
    const has = "smcpWorker((env";
    return (await blockOf({ page: "docs/edge.md", has })).code;
  },
} as const;

type Program = keyof typeof PROGRAMS;

let bundles: Promise<string> | undefined;

/** Bundles the programs, once for all tests of a file; returns their folder. */
export function bundleWorkers(): Promise<string> {
  const given = Deno.env.get(BUNDLES);
  if (given !== undefined) return Promise.resolve(given);
  return bundles ??= makeBundles();
}

async function makeBundles(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-workers-" });
  const packages = join(folder, "packages");
  await Deno.mkdir(packages);
  await installForBundles(packages);
  for (const [program, read] of Object.entries(PROGRAMS)) {
    const source = byPackage(await read());
    const { code } = await bundle(packages, source, "workerd");
    await Deno.writeTextFile(join(folder, `${program}.mjs`), code);
  }
  await Deno.remove(packages, { recursive: true });
  return folder;
}

/** Imports the entries of the package in place of their files. */
function byPackage(source: string): string {
  for (const [entry, file] of Object.entries(config.exports)) {
    const name = join(config.name, entry);
    source = source.replaceAll(`"../../../${file.slice(2)}"`, `"${name}"`);
  }
  return source;
}

/** Reads the example's `wrangler.jsonc`, with which all Workers run, as options of Miniflare. */
async function wranglerOptions() {
  const text = await Deno.readTextFile(new URL("wrangler.jsonc", EXAMPLE));
  const {
    compatibility_date,
    compatibility_flags,
    durable_objects,
    migrations,
  } = parse(text);
  const bindings: { name: string; class_name: string }[] =
    durable_objects.bindings;
  const [{ new_sqlite_classes: withSql }] = migrations;
  return {
    compatibilityDate: compatibility_date,
    compatibilityFlags: compatibility_flags,
    durableObjects: Object.fromEntries(
      bindings.map(({ name, class_name: className }) => [
        name,
        { className, useSQLite: withSql.includes(className) },
      ]),
    ),
  };
}

/** A Worker on a free port of loopback. */
export interface Workerd extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Resolves with the next line of its console that was not read, parsed. */
  nextLine(): Promise<Readonly<Record<string, unknown>>>;
  /** Replaces the program, with other bindings: all its objects end. */
  deploy(bindings: Bindings): Promise<void>;
  /** Ends an object with all that it has in memory, by its query, such as `office=office:home`. */
  end(object: string): Promise<void>;
}

let puppet: Promise<Puppet> | undefined;
let last = 0;

/** Starts the program that runs workerd, once for all tests of a file. */
function host(): Promise<Puppet> {
  return puppet ??= (async () => {
    const { folder, node } = await edgeTools();
    const file = fileURLToPath(new URL("host.mjs", import.meta.url));
    return await startPuppet([node, file, `${folder}/`]);
  })();
}

/** Ends it, and removes the bundles; after all tests of a file. */
export async function endWorkers(): Promise<void> {
  await (await puppet)?.[Symbol.asyncDispose]();
  puppet = undefined;
  const folder = await bundles;
  bundles = undefined;
  if (folder !== undefined) await Deno.remove(folder, { recursive: true });
}

/** Starts the Worker of a program. */
async function start(
  program: Program,
  bindings: object,
): Promise<Workerd> {
  const modulesRoot = await bundleWorkers();
  const path = join(modulesRoot, `${program}.mjs`);
  const runtime = await host();
  const id = ++last;
  const { durableObjects, ...dates } = await wranglerOptions();
  const settings = {
    ...dates,
    ...(program !== "agent" && { durableObjects }),
    bindings,
    modulesRoot,
    modules: [{ type: "ESModule", path }],
    cf: false,
    host: "127.0.0.1",
    port: 0,
  };
  const url = new URL(String(await runtime.call("start", id, settings)));
  return {
    url: url.origin,
    port: Number(url.port),
    async nextLine() {
      return JSON.parse(String(await runtime.next(`log ${id}`)));
    },
    async deploy(bindings) {
      const port = Number(url.port);
      await runtime.call("deploy", id, { ...settings, bindings, port });
    },
    async end(object) {
      const answer = await fetch(`${url.origin}/.test/abort?${object}`);
      await answer.text();
    },
    async [Symbol.asyncDispose]() {
      await runtime.call("stop", id);
    },
  };
}

/** Starts a Server. */
export const startWorker = (
  bindings: Partial<Bindings> = {},
): Promise<Workerd> =>
  start("server", { OPTIONS: { insecure: true }, ...bindings });

/** Starts the example, with its secrets. */
export const startExample = (
  program: "example" | "page",
  secrets: Readonly<Record<string, string>>,
): Promise<Workerd> => start(program, secrets);

/** Starts a Worker with an Agent. */
export const startAgentWorker = (): Promise<Workerd> => start("agent", {});

/** Engine.IO and Miniflare end what is left of a test a little later. */
export const LEAVES_TIMER = { sanitizeOps: false, sanitizeResources: false };

/** Defines a test with a Server. */
export function testWorker(
  name: string,
  test: (server: Workerd) => Promise<void>,
  bindings?: Partial<Bindings>,
): void {
  Deno.test({
    ...LEAVES_TIMER,
    name,
    fn: async () => {
      await using server = await startWorker(bindings);
      await test(server);
    },
  });
}
