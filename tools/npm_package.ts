import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../deno.json" with { type: "json" };
import { run } from "./process.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

/** The oldest Node that the package runs on. */
const OLDEST = 22;

/** What the declarations of the package are checked with. */
export const TYPESCRIPT: readonly string[] = [
  "typescript@5.9.3",
  "@types/node@22.20.5",
];

/** The commands that npm puts on a user's path, with the files that they run. */
export const BINS: Readonly<Record<string, string>> = {
  "smcp": "main.js",
  "smcp-server": "server/main.js",
  "smcp-computer": "computer/main.js",
  "smcp-agent": "agent/main.js",
};

/** A command; an older Node would fail somewhere deep inside. */
const binSource = (name: string): string =>
  `#!/usr/bin/env node
if (parseInt(process.versions.node) < ${OLDEST}) {
  console.error(
    \`error: ${name} needs Node ${OLDEST} or later, and this is \${process.version}; get one from https://nodejs.org\`,
  );
  process.exit(1);
}
await import("../${BINS[name]}");
`;

/** What `deno pack` can not be told: it makes the manifest of `deno.json`, which has no such fields. */
const MANIFEST = {
  description: "A2C-SMCP: an Agent uses the tools of remote Computers",
  keywords: ["a2c", "smcp", "mcp", "agent", "tools"],
  engines: { node: `>=${OLDEST}` },
  bin: Object.fromEntries(
    Object.keys(BINS).map((name) => [name, binFile(name)]),
  ),
};

/**
 * Makes the npm tarball: what `deno pack` makes, and the commands.
 *
 * @param folder where to write it
 * @returns its path
 */
export async function npmPackage(folder: string): Promise<string> {
  const scratch = await Deno.makeTempDir({ prefix: "npm-package-" });
  try {
    const packed = await denoPack(scratch);
    await run("tar", ["-xzf", packed], scratch);
    const content = join(scratch, "package");
    await addManifest(join(content, "package.json"));
    await Deno.mkdir(join(content, "bin"));
    for (const name of Object.keys(BINS)) {
      const file = join(content, binFile(name));
      await Deno.writeTextFile(file, binSource(name), { mode: 0o755 });
    }
    const tarball = await run(
      "npm",
      ["pack", "--silent", "--ignore-scripts", content],
      scratch,
    );
    const name = basename(tarball.trim());
    await Deno.copyFile(join(scratch, name), join(folder, name));
    return join(folder, name);
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Makes the tarball of `deno pack` alone; returns its path. */
export async function denoPack(folder: string): Promise<string> {
  const tarball = join(folder, `deno-pack-${config.version}.tgz`);
  await run("deno", ["pack", "--allow-dirty", "--output", tarball], root);
  return tarball;
}

/**
 * Installs a tarball as a user does, in an empty folder.
 *
 * @param more packages beside it
 */
export async function installPackage(
  folder: string,
  tarball: string,
  more: readonly string[] = [],
): Promise<void> {
  await Deno.writeTextFile(
    join(folder, "package.json"),
    JSON.stringify({ private: true, type: "module" }),
  );
  await run(
    "npm",
    [
      "install",
      "--no-audit",
      "--no-fund",
      "--prefer-offline",
      tarball,
      ...more,
    ],
    folder,
  );
}

async function addManifest(path: string): Promise<void> {
  const manifest = JSON.parse(await Deno.readTextFile(path));
  await Deno.writeTextFile(
    path,
    JSON.stringify({ ...manifest, ...MANIFEST }, null, 2),
  );
}

function binFile(name: string): string {
  return `bin/${name}.js`;
}
