/**
 * The examples in the documentation of each entrypoint, as they are shown on JSR: those that are
 * programs are run; those that are functions are called, with what they are made for.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import config from "../../../deno.json" with { type: "json" };
import { start } from "../../support/child.ts";
import { withVersions } from "../../support/computer/reference_servers.ts";
import { commandsOf, mistakeIn } from "../support/commands.ts";
import { type Home, makeHome } from "../support/home.ts";

/** The first code block of a module's documentation. */
async function exampleOf(entrypoint: string, language: string) {
  const url = new URL(`../../../${entrypoint}`, import.meta.url);
  const [doc = ""] = (await Deno.readTextFile(url)).split("*/");
  const [, code] = doc.replaceAll(/^ \* ?/gm, "")
    .match(RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "m")) ?? [];
  assert(code !== undefined, `${entrypoint} has no example`);
  return code;
}

/** Runs code in somebody's folder, and gives what it prints. */
async function outputOf(code: string, { folder, env }: Home): Promise<string> {
  await Deno.writeTextFile(`${folder}/example.ts`, withVersions(code));
  await using child = start(
    Deno.execPath(),
    ["run", "-A", "--no-prompt", "example.ts"],
    { cwd: folder, env },
  );
  const { code: end } = await child.status;
  const output = child.lines.join("\n");
  assertEquals(end, 0, output);
  return output;
}

/** A test of an example, and of what is done with it. */
const runs = (entrypoint: string, says: RegExp, use = "") =>
  Deno.test({
    name: `the example of ${entrypoint} runs`,
    timeout: 180_000,
    fn: async () => {
      await using home = await makeHome();
      const code = await exampleOf(entrypoint, "ts");
      assertMatch(await outputOf(code + use, home), says);
    },
  });

runs("mod.ts", /name: "laptop",\s+role: "computer"/);
runs("testing/mod.ts", /text: "hello"/);
runs("protocol/mod.ts", /^true\necho$/m);
runs("server/mod.ts", /connect to http:\/\/127\.0\.0\.1:\d+$/m);

runs(
  "agent/mod.ts",
  /^laptop \[ "echo" \]\n\[ { type: "text"/m,
  `
import { startOffice } from "@a2c-smcp/sdk/testing";
const tool = { name: "echo", description: "", params_schema: {} };
const office = await startOffice({
  officeId: "office-1",
  computers: {
    laptop: (event) =>
      event === "client:tool_call"
        ? { content: [{ type: "text", text: "hello" }] }
        : { tools: [{ ...tool, return_schema: null }], req_id: "1" },
  },
});
await office.agent.leave();
await hello(office.url);
await office.close();
`,
);

runs(
  "computer/mod.ts",
  /^files running$[^]*^read$/m,
  `
import { createSmcpServer, SmcpAgent } from "@a2c-smcp/sdk";
const server = createSmcpServer();
const { url } = await server.listen();
const computer = await serve(url);
await computer.serversSettled();
const agent = new SmcpAgent({ url, name: "planner" });
await agent.connect();
await agent.join("office-1");
for (const { name } of await agent.getTools("laptop")) console.log(name);
await agent.close();
await computer.close();
await server.close();
`,
);

for (const entrypoint of Object.values(config.exports)) {
  if (!entrypoint.endsWith("main.ts")) continue;
  Deno.test(`the example of ${entrypoint} is taken by the command`, async () => {
    const commands = await commandsOf(await exampleOf(entrypoint, "sh"));
    assertEquals(commands.length, 1);
    for (const command of commands) {
      assertEquals(await mistakeIn(command), undefined);
    }
  });
}
