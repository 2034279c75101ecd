/**
 * `npm install @a2c-smcp/ROLE`: a program of that role runs, and its types are complete, with nothing
 * else that somebody has to install.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startOffice } from "../support/office.ts";
import { findNode, NODE_VERSIONS } from "../../tools/npm/node.ts";
import {
  addPackages,
  installPackages,
  npmPackages,
  type Tarballs,
  TYPESCRIPT,
} from "../../tools/npm/npm_package.ts";
import { type RoleName, ROLES } from "../../tools/npm/role_packages.ts";
import { run } from "../../tools/process.ts";

/** MB of files that an Agent may take in `node_modules`. */
const MAX_AGENT_MB = 17;
/** The roles that a program needs, where these are more than its own. */
const NEEDS: Partial<Record<RoleName, readonly RoleName[]>> = {
  mcp: ["agent", "mcp", "server"],
};

const programs = fileURLToPath(new URL("./roles/", import.meta.url));
const folder = await Deno.makeTempDir({ prefix: "smcp-roles-" });
let tarballs: Tarballs;

Deno.test.beforeAll(async () => {
  tarballs = await npmPackages(folder);
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** Installs the package of a role as a user does, with a program. */
async function install(role: RoleName): Promise<string> {
  const project = join(folder, role);
  await Deno.mkdir(project);
  const { sdk, roles } = tarballs; // the library is in no registry
  const wanted = (NEEDS[role] ?? [role]).map((name) => roles[name]);
  await installPackages(project, sdk, ...wanted);
  await Deno.copyFile(join(programs, `${role}.ts`), join(project, "main.ts"));
  return project;
}

/** Bytes of all files. */
async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    bytes += isDirectory ? await sizeOf(path) : (await Deno.lstat(path)).size;
  }
  return bytes;
}

for (const role of ROLES) {
  Deno.test({
    name:
      `@a2c-smcp/${role} is all that a program of it needs: complete types, and it runs`,
    timeout: 600_000,
  }, async (t) => {
    const project = await install(role);
    if (role === "agent") {
      await t.step(`has at most ${MAX_AGENT_MB} MB`, async () => {
        const bytes = await sizeOf(join(project, "node_modules"));
        assert(bytes > 0 && bytes <= MAX_AGENT_MB * 1e6, `${bytes}`);
      });
    }
    await t.step("type-checks, declarations of libraries too", async () => {
      await addPackages(project, ...TYPESCRIPT.slice(0, 1));
      const compilerOptions = {
        strict: true,
        skipLibCheck: false,
        target: "es2023",
        module: "nodenext",
        // As docs/agent-builders.md says, where there are no types of Node.
        ...(role === "agent" && {
          lib: ["es2023", "dom", "esnext.disposable"],
          types: [],
        }),
      };
      await Deno.writeTextFile(
        join(project, "tsconfig.json"),
        JSON.stringify({ compilerOptions, files: ["main.ts"] }),
      );
      await run("node_modules/.bin/tsc", [], project);
    });
    await using office = await startOffice({
      computers: { pc: () => ({ content: [{ type: "text", text: "hello" }] }) },
    });
    await office.agent.leave();
    await Deno.copyFile(
      fileURLToPath(new URL("./suite/mcp_server.mjs", import.meta.url)),
      join(project, "mcp_server.mjs"),
    );
    await Deno.writeTextFile(
      join(project, "required.cjs"),
      `console.log(Object.keys(require("@a2c-smcp/${role}")).length > 0)`,
    );
    for (const version of NODE_VERSIONS) {
      await t.step(`runs on Node ${version}, and with require()`, async () => {
        const node = await findNode(version);
        const args = ["main.js", office.url, "north"];
        assertEquals(await run(node, args, project), "works\n");
        assertEquals(await run(node, ["required.cjs"], project), "true\n");
      });
    }
  });
}
