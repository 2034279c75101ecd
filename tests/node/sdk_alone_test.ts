/**
 * `npm install @a2c-smcp/sdk` alone: an Agent works, and other features name what they need.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { start } from "../support/child.ts";
import { startOffice } from "../support/office.ts";
import { findNode, NODE_VERSIONS } from "../../tools/npm/node.ts";
import {
  addPackages,
  installPackages,
  npmPackages,
} from "../../tools/npm/npm_package.ts";
import { run } from "../../tools/process.ts";

const scripts = fileURLToPath(new URL("./alone/", import.meta.url));
const folder = await Deno.makeTempDir({ prefix: "smcp-alone-" });

Deno.test.beforeAll(async () => {
  await installPackages(folder, (await npmPackages(folder)).sdk);
  for await (const { name } of Deno.readDir(scripts)) {
    await Deno.copyFile(join(scripts, name), join(folder, name));
  }
  await Deno.copyFile(
    fileURLToPath(new URL("./suite/mcp_server.mjs", import.meta.url)),
    join(folder, "mcp_server.mjs"),
  );
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

for (const version of NODE_VERSIONS) {
  Deno.test({
    name: `Node ${version} runs an Agent with the package alone`,
    timeout: 600_000,
  }, async () => {
    const node = await findNode(version);
    await using office = await startOffice({
      computers: { pc: () => ({ content: [{ type: "text", text: "hello" }] }) },
    });
    await office.agent.leave();
    const args = ["agent.mjs", office.url, "north"];
    assertEquals(await run(node, args, folder), "works\n");
  });
}

/** The expected error of each feature while a package is missing; each installs one for the next. */
const NEEDS: [feature: string, says: string, packages: string[]][] = [
  [
    "front_door",
    "Cannot use createSmcpServer: not all packages that it needs are installed; install them: npm install",
    ["@hono/node-server", "engine.io@6.6.12", "hono", "socket.io@4.8.4"],
  ],
  ["tracing", "Cannot trace", ["@opentelemetry/api"]],
  ["jwt", "Cannot verify JWTs", ["jose"]],
  ["vrl", "Cannot run VRL programs", ["@bpinternal/verel"]],
  ["skills", "Cannot read skills", ["yaml"]],
  ["mcp", "Cannot reach MCP servers", ["@modelcontextprotocol/sdk"]],
];

Deno.test({
  name:
    "a feature that needs another package names it, and works after the suggested command",
  timeout: 600_000,
}, async (t) => {
  const node = await findNode(NODE_VERSIONS[0]);
  const failure = (feature: string) =>
    run(node, ["features.mjs", feature], folder).then(
      () => "nothing failed",
      (error: Error) => error.message,
    );
  assertMatch(
    await failure("server"),
    /Cannot load @a2c-smcp\/sdk\/server: not all packages .*: npm install /,
  );
  for (const [feature, says, packages] of NEEDS) {
    await t.step(feature, async () => {
      const text = await failure(feature);
      assert(text.includes(says), text);
      const [, command = ""] = /; install \w+: npm install (.*)$/m.exec(text) ??
        [];
      assertEquals(command.split(" "), packages, text);
      await addPackages(folder, ...packages);
      await using child = start(node, ["features.mjs", feature], {
        cwd: folder,
      });
      const [said] = await child.line(/^works$|listening on/);
      if (said !== "works") child.signal("SIGTERM"); // a Server, until it is stopped
      assertEquals((await child.status).code, 0, child.lines.join("\n"));
    });
    // The package of the commands has it.
    if (feature === "front_door") await addPackages(folder, "commander");
  }
  assertEquals(await run(node, ["features.mjs", "server"], folder), "works\n");
});
