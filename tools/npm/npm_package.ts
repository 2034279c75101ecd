import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { run } from "../process.ts";
import { commandsPackage, COMMON } from "./commands_package.ts";
import {
  type Dependencies,
  splitDependencies,
  splitOptional,
} from "./dependencies.ts";
import { type Gate, makeGates } from "./gates.ts";
import { type RoleName, ROLES, writeRolePackage } from "./role_packages.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The packages that check the declarations of the package. */
export const TYPESCRIPT: readonly string[] = [
  "typescript@5.9.3",
  "@types/node@22.20.5",
];

/** The tarballs of the npm packages. */
export interface Tarballs {
  /** The library, `@a2c-smcp/sdk`. */
  readonly sdk: string;
  /** The commands, `@a2c-smcp/cli`. */
  readonly cli: string;
  /** The library with what a role of it needs, such as `@a2c-smcp/server`. */
  readonly roles: Readonly<Record<RoleName, string>>;
}

/** What is read of the manifest that `deno pack` makes of `deno.json`. */
interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/**
 * Makes the npm tarballs.
 *
 * @param folder where to write them
 * @returns their paths
 */
export async function npmPackages(folder: string): Promise<Tarballs> {
  const scratch = await Deno.makeTempDir({ prefix: "npm-package-" });
  try {
    await run("tar", ["-xzf", await denoPack(scratch)], scratch);
    const content = join(scratch, "package");
    const { dependencies, peerDependencies } = await completeSdk(content);
    const commands = await commandsPackage(
      scratch,
      content,
      splitOptional({ ...dependencies, ...peerDependencies }),
    );
    const roles = await Promise.all(ROLES.map(async (role) => {
      const own = await writeRolePackage(role, scratch, content);
      return [role, await pack(own, scratch, folder)] as const;
    }));
    return {
      sdk: await pack(content, scratch, folder),
      cli: await pack(commands, scratch, folder),
      roles: Object.fromEntries(roles) as Record<RoleName, string>,
    };
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Creates the tarball of `deno pack`; returns its path. */
async function denoPack(folder: string): Promise<string> {
  const tarball = join(folder, `deno-pack-${config.version}.tgz`);
  await run("deno", [
    "pack",
    "--allow-dirty",
    "--no-source-maps",
    "--output",
    tarball,
  ], root);
  return tarball;
}

/**
 * Installs packages as a user does, in an empty folder.
 *
 * @param packages tarballs and names
 */
export async function installPackages(
  folder: string,
  ...packages: readonly string[]
): Promise<void> {
  await Deno.writeTextFile(
    join(folder, "package.json"),
    JSON.stringify({ private: true, type: "module" }),
  );
  await addPackages(folder, ...packages);
}

/** Installs packages in a folder that has a `package.json`. */
export async function addPackages(
  folder: string,
  ...packages: readonly string[]
): Promise<void> {
  const options = ["--no-audit", "--no-fund", "--prefer-offline"];
  await run("npm", ["install", ...options, ...packages], folder);
}

/** The modules that do something when they are imported; of others, bundlers leave out what nobody uses. */
const SIDE_EFFECTS = [
  "./shared/check_runtime.js",
  "./cli/prepare.js",
  "./**/main.js",
  "./gates/*.js",
];

/** What bundlers for browsers and Workers take instead of a module, or leave out. */
const IN_BROWSERS = {
  "./client/network/node_network.js": "./client/network/web_network.js",
  "./client/network/node_transports.js": "./client/network/web_transports.js",
  "./agent/files.js": "./agent/no_files.js",
  // Some look for its modules of Node otherwise.
  "https-proxy-agent": false,
};

/** Adds what `deno pack` cannot be told; returns what the package depends on. */
async function completeSdk(content: string): Promise<Dependencies> {
  const gates = await makeGates();
  for (const { path, source } of gates) {
    const file = join(content, path);
    await Deno.mkdir(dirname(file), { recursive: true });
    await Deno.writeTextFile(file, source);
  }
  const path = join(content, "package.json");
  const manifest: Manifest = JSON.parse(await Deno.readTextFile(path));
  const split = splitDependencies(Object.keys(manifest.dependencies));
  const peers = Object.keys(split.peerDependencies);
  const complete = {
    ...manifest,
    description: "A2C-SMCP: an Agent uses the tools of remote Computers",
    ...COMMON,
    exports: withGates(manifest.exports, gates),
    sideEffects: SIDE_EFFECTS,
    browser: IN_BROWSERS,
    ...split,
    peerDependenciesMeta: Object.fromEntries(
      peers.map((name) => [name, { optional: true }]),
    ),
  };
  await Deno.writeTextFile(path, JSON.stringify(complete, null, 2));
  return split;
}

/** Bundlers and `require()` cannot take a gate, which awaits; they name what is missing themselves. */
function withGates(
  exports: Manifest["exports"],
  gates: readonly Gate[],
): Manifest["exports"] {
  const gated = { ...exports };
  for (const { entry, module, path } of gates) {
    gated[entry] = {
      types: exports[entry]?.types ?? "",
      module: `./${module}`,
      require: `./${module}`,
      default: `./${path}`,
    };
  }
  return gated;
}

async function pack(
  content: string,
  scratch: string,
  folder: string,
): Promise<string> {
  const options = ["--silent", "--ignore-scripts"];
  const output = await run("npm", ["pack", ...options, content], scratch);
  const tarball = join(folder, basename(output.trim()));
  await Deno.copyFile(join(scratch, basename(tarball)), tarball);
  return tarball;
}
