/**
 * Tests what `deno compile` puts into its binaries, without downloading a runtime: each command as one
 * file in an empty folder, with nothing else to load or fetch.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { start } from "../../support/child.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { scratch } from "../../support/scratch.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const ENTRIES = {
  server: "server/main.ts",
  computer: "computer/main.ts",
  agent: "agent/main.ts",
  smcp: "main.ts",
  mcp: "tests/support/fixtures/mcp_stdio.ts",
} as const;
const ALONE = ["--no-config", "--no-lock", "--no-npm", "--no-remote"];

Deno.test({
  name:
    "each command runs alone as one file: server, computer with VRL, agent, smcp",
  timeout: 300_000,
}, async () => {
  await using folder = await scratch();
  const [empty, cache] = ["empty", "cache"].map((name) =>
    join(folder.path, name)
  );
  await Deno.mkdir(`${empty}`);
  await bundle(Object.values(ENTRIES), folder.path);

  const argumentsOf = (name: keyof typeof ENTRIES) => [
    ...["run", "-A", ...ALONE],
    join(folder.path, ENTRIES[name].replace(/ts$/, "js")),
  ];
  const env = { DENO_DIR: `${cache}` };
  const run = (name: keyof typeof ENTRIES, ...args: string[]) =>
    start(Deno.execPath(), [...argumentsOf(name), ...args], {
      cwd: `${empty}`,
      env,
    });
  const command = Deno.execPath();
  await using config = await configFile({
    servers: {
      fixture: {
        type: "stdio",
        server_parameters: { command, args: argumentsOf("mcp"), env },
        vrl: ".seen = .tool_name",
      },
    },
  });

  await using server = run("server", "--port=0", "--metrics");
  const [, url = ""] = await server.line(/(http:\/\/127\.0\.0\.1:\d+)/);
  const office = [`--url=${url}`, "--office=demo"];
  await using computer = run(
    "computer",
    ...["run", ...office, "--name=pc", `--config=${config.file}`, "--yes"],
  );
  const [state] = await computer.line(/fixture: (running|failed).*/);
  assertMatch(state, /running/);
  await computer.line(/joined/i);
  await using agent = run(
    "agent",
    ...["call", "echo", ...office, "--json", `--params={"text":"alone"}`],
  );
  assertEquals((await agent.status).code, 0, agent.lines.join("\n"));
  const said = agent.lines.join("\n");
  assertMatch(said, /"text": ?"alone"/);
  assertMatch(said, /\\"seen\\": ?\\"echo\\"/);
  await using smcp = run("smcp", "agent", "members", ...office);
  assertEquals((await smcp.status).code, 0, smcp.lines.join("\n"));
  assertMatch(smcp.lines.join("\n"), /^pc +computer/m);
  assertEquals((await computer.stop()).code, 0, computer.lines.join("\n"));
  assertEquals((await server.stop()).code, 0, server.lines.join("\n"));
  assertEquals([...Deno.readDirSync(`${empty}`)], []);
});

/** Bundles files, each into one of its own in a folder. */
async function bundle(
  files: readonly string[],
  folder: string,
): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--platform", "deno", "--outdir", folder],
      ...files,
    ],
    cwd: root,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
