/**
 * The programs of `docs/getting-started.md`: a Server, a Computer and an Agent, each run as it is written.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { type Child, start } from "../support/child.ts";
import { withVersions } from "../support/computer/reference_servers.ts";
import { exampleCode } from "./support/blocks.ts";
import { makeHome } from "./support/home.ts";

Deno.test({
  name: "the Server, the Computer and the Agent of the first page meet",
  timeout: 240_000,
  fn: async () => {
    await using home = await makeHome();
    let url = "http://127.0.0.1:0";
    const run = async (example: string): Promise<Child> => {
      const code = withVersions(await exampleCode(example));
      const file = `${home.folder}/${example}.ts`;
      await Deno.writeTextFile(
        file,
        code.replaceAll("http://127.0.0.1:8787", url)
          .replaceAll("port: 8787", "port: 0"),
      );
      return start(Deno.execPath(), ["run", "-A", "--no-prompt", file], {
        cwd: home.folder,
        env: home.env,
      });
    };
    await using server = await run("server");
    [, url = ""] = await server.line(/^Serving (\S+)$/);
    await using computer = await run("computer");
    await computer.line(/^memory running$/);
    await computer.line(/^Serving as laptop$/);
    await using agent = await run("agent");
    assertEquals((await agent.status).code, 0, agent.lines.join("\n"));
    assertMatch(agent.lines.join("\n"), /laptop [^]*read_graph[^]*^done /m);
  },
});
