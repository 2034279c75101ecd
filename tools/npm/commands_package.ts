import { join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import type { Dependencies } from "./dependencies.ts";

/** The oldest Node that the packages run on. */
export const MIN_NODE = "22.12";
const [MAJOR, MINOR] = MIN_NODE.split(".").map(Number);

/** npm accepts the provenance of a package only where it names the repository that built it. */
const { GITHUB_SERVER_URL: host, GITHUB_REPOSITORY: path } = Deno.env
  .toObject();

/** What the manifests of all packages have in common. */
export const COMMON = {
  version: config.version,
  license: config.license,
  type: "module",
  keywords: ["a2c", "smcp", "mcp", "agent", "tools"],
  engines: { node: `>=${MIN_NODE}` },
  ...(host !== undefined && path !== undefined && {
    repository: { type: "git", url: `git+${host}/${path}.git` },
  }),
} as const;

/** The name of the package that brings the commands. */
export const CLI_NAME = "@a2c-smcp/cli";

/** The commands that npm puts on a user's path, with the modules that they run. */
export const BINS: Readonly<Record<string, string>> = {
  "smcp": "main.js",
  "smcp-server": "server/main.js",
  "smcp-computer": "computer/main.js",
  "smcp-agent": "agent/main.js",
};

const README = `# ${CLI_NAME}

The commands of A2C-SMCP:
${Object.keys(BINS).map((name) => `\`${name}\``).join(", ")}.

\`\`\`sh
npm install --global ${CLI_NAME}
smcp up
\`\`\`

The library behind them is \`${config.name}\`; its documentation is in its folder
\`docs\`.
`;

/**
 * Writes the package of the commands, with all that they can use.
 *
 * The code lies in it. Did it depend on the library, then npm would run one that is installed
 * globally beside it, which does not find what it recommends.
 *
 * @param scratch where to put its folder
 * @param sdk folder with the library as npm gets it
 * @param dependencies the packages that it brings, and those that it recommends
 * @returns its folder
 */
export async function commandsPackage(
  scratch: string,
  sdk: string,
  { dependencies, peerDependencies }: Dependencies,
): Promise<string> {
  const folder = join(scratch, "commands");
  await Deno.mkdir(join(folder, "bin"), { recursive: true });
  const manifest = {
    name: CLI_NAME,
    description: "The commands of A2C-SMCP: Server, Computer, Agent",
    ...COMMON,
    bin: Object.fromEntries(
      Object.keys(BINS).map((name) => [name, binFile(name)]),
    ),
    dependencies,
    peerDependencies,
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(peerDependencies).map((name) => [name, { optional: true }]),
    ),
  };
  const write = (path: string, text: string, mode = 0o644) =>
    Deno.writeTextFile(join(folder, path), text, { mode });
  await write("package.json", JSON.stringify(manifest, null, 2));
  await write("README.md", README);
  await Deno.copyFile(join(sdk, "LICENSE"), join(folder, "LICENSE"));
  await copyCode(sdk, join(folder, "lib"));
  for (const name of Object.keys(BINS)) {
    await write(binFile(name), binSource(name), 0o755);
  }
  return folder;
}

/** Returns the source of a command, which checks the version of Node first. */
const binSource = (name: string): string =>
  `#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < ${MAJOR} || major === ${MAJOR} && minor < ${MINOR}) {
  console.error(
    \`error: ${name} needs Node ${MIN_NODE} or later, and this is \${process.version}; get one from https://nodejs.org\`,
  );
  process.exit(1);
}
await import("../lib/${BINS[name]}");
`;

/** Copies the modules of a folder and those in it; declarations and documentation stay behind. */
async function copyCode(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    const source = join(from, name);
    const target = join(to, name);
    if (isDirectory && !["docs", "gates"].includes(name)) {
      await copyCode(source, target);
    } else if (name.endsWith(".js")) await Deno.copyFile(source, target);
  }
}

function binFile(name: string): string {
  return `bin/${name}.js`;
}
