import { join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { COMMON, MIN_NODE } from "./commands_package.ts";
import { rangesOf, splitOptional } from "./dependencies.ts";
import { peersOf } from "./gates.ts";

/** The purpose of a role's package. */
interface RoleText {
  /** One sentence. */
  readonly description: string;
  /** The export to begin with. */
  readonly example: string;
}

/** The roles of the library that have a package of their own, by their names in its `exports`. */
const TEXTS = {
  agent: {
    description:
      "An Agent of A2C-SMCP, which uses the tools of remote Computers",
    example: "SmcpAgent",
  },
  computer: {
    description:
      "A Computer of A2C-SMCP, which offers its MCP servers to Agents",
    example: "SmcpComputer",
  },
  server: {
    description: "A Server of A2C-SMCP, where Agents and Computers meet",
    example: "createSmcpServer",
  },
  mcp: {
    description: "An office of A2C-SMCP as one MCP server",
    example: "officeMcp",
  },
  testing: {
    description: "An office of A2C-SMCP for tests: Server, Computers and Agent",
    example: "startOffice",
  },
} as const satisfies Readonly<Record<string, RoleText>>;

/** A role that has a package of its own. */
export type RoleName = keyof typeof TEXTS;

/** These roles. */
export const ROLES = Object.keys(TEXTS) as readonly RoleName[];

/** Returns the name of the package of a role. */
export const rolePackage = (role: RoleName): string =>
  config.name.replace(/[^/]+$/, role);

/** Declarations of Node's modules: an Agent alone runs elsewhere, too. */
const NODE_TYPES = { "@types/node": `>=${parseInt(MIN_NODE)}` };

/**
 * Writes the package of a role: the entrypoints of the library that belong to it, with all packages
 * that they can load.
 *
 * It has no code of its own. Were that copied, then a program with two roles would have two classes
 * of each error, and could not give the Agent of one package to another.
 *
 * @param scratch where to put its folder
 * @param sdk folder with the library as npm gets it
 * @returns its folder
 */
export async function writeRolePackage(
  role: RoleName,
  scratch: string,
  sdk: string,
): Promise<string> {
  const entries = entriesOf(role);
  const peers = await Promise.all(
    entries.map(({ file }) => peersOf(file, true)),
  );
  const { dependencies, peerDependencies } = splitOptional(
    rangesOf([...new Set(peers.flat())].toSorted()),
  );
  const { description } = TEXTS[role];
  const manifest = {
    name: rolePackage(role),
    description,
    ...COMMON,
    exports: Object.fromEntries(entries.map(({ path, name }) => [path, {
      types: `./${name}.d.ts`,
      require: `./${name}.cjs`,
      default: `./${name}.js`,
    }])),
    dependencies: {
      [config.name]: config.version,
      ...dependencies,
      ...(role !== "agent" && NODE_TYPES),
    },
    ...(Object.keys(peerDependencies).length > 0 && {
      peerDependencies,
      peerDependenciesMeta: Object.fromEntries(
        Object.keys(peerDependencies).map((name) => [name, { optional: true }]),
      ),
    }),
  };
  const folder = join(scratch, role);
  await Deno.mkdir(folder);
  const write = (path: string, text: string) =>
    Deno.writeTextFile(join(folder, path), text);
  await write("package.json", JSON.stringify(manifest, null, 2));
  await write("README.md", readme(role));
  await Deno.copyFile(join(sdk, "LICENSE"), join(folder, "LICENSE"));
  for (const { name, target } of entries) {
    const source = `export * from ${JSON.stringify(target)};\n`;
    await write(`${name}.js`, source);
    await write(`${name}.d.ts`, source);
    // What `require()` loads must not wait, as the entrypoints for `import` do.
    await write(
      `${name}.cjs`,
      `module.exports = require(${JSON.stringify(target)});\n`,
    );
  }
  return folder;
}

/** An entrypoint of a role. */
interface RoleEntry {
  /** Its name in `exports` of the role's package. */
  readonly path: string;
  /** The name of its files there, without an extension. */
  readonly name: string;
  /** The specifier of the library's entrypoint. */
  readonly target: string;
  /** The module of that. */
  readonly file: string;
}

function entriesOf(role: RoleName): RoleEntry[] {
  return Object.entries(config.exports).flatMap(([entry, file]) => {
    const [first, ...rest] = entry.replace("./", "").split("/");
    if (first !== role || rest[0] === "main") return []; // a command
    return [{
      path: [".", ...rest].join("/"),
      name: rest.join("_") || "mod",
      target: `${config.name}/${[role, ...rest].join("/")}`,
      file,
    }];
  });
}

const readme = (role: RoleName): string => {
  const { description, example } = TEXTS[role];
  return `# ${rolePackage(role)}

${description}: \`${config.name}/${role}\` with all packages that it can load.

\`\`\`js
import { ${example} } from "${rolePackage(role)}";
\`\`\`

The code, and the documentation in the folder \`docs\`, are those of
\`${config.name}\`.
`;
};
