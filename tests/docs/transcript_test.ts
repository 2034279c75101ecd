/**
 * The first tool call of the README and the first ten minutes of `docs/getting-started.md`, as they
 * are written: the one from an empty folder, the other from somebody's configuration of Claude
 * Desktop; and the quick start of the README, with an MCP client in place of Claude Code.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { exampleConfig } from "../../computer/cli/init.ts";
import { start } from "../support/child.ts";
import { withVersions } from "../support/computer/reference_servers.ts";
import { CLIENTS } from "../support/mcp/clients.ts";
import { exampleCode, readPages } from "./support/blocks.ts";
import { makeHome } from "./support/home.ts";
import { isServing, normalize, play, transcriptOf } from "./support/play.ts";

const pages = await readPages();
const readme = pages.get("README.md") ?? "";
const firstCall = transcriptOf(readme);
const steps = transcriptOf(pages.get("docs/getting-started.md") ?? "");

Deno.test("the transcript has at most six commands", () => {
  assert(steps.length > 3 && steps.length <= 6, `${steps.length}`);
  assertEquals(steps.filter(({ command }) => isServing(command)).length, 1);
});

Deno.test({
  name:
    "the transcript of the README: from an empty folder and its configuration to a tool call",
  timeout: 600_000,
  fn: async () => {
    assertEquals(firstCall.length, 2);
    const configuration = await exampleCode("configuration", "README");
    await play(firstCall, async ({ folder }) => {
      const file = `${folder}/computer.json`;
      await Deno.writeTextFile(file, withVersions(configuration));
      return {};
    });
  },
});

Deno.test("init writes the configuration that the README shows, with the whole path of the folder", async () => {
  const shown = JSON.parse(await exampleCode("configuration", "README"));
  assertEquals(exampleConfig("."), shown);
});

Deno.test({
  name:
    "the first ten minutes: from an empty folder and Claude Desktop's configuration to a tool call",
  timeout: 600_000,
  fn: () => play(steps),
});

Deno.test({
  name:
    "the quick start of the README: four commands in an empty folder, an MCP client calls a tool, and so does smcp-agent right after it",
  timeout: 600_000,
  fn: async () => {
    const commands = (await exampleCode("quick-start", "README")).trimEnd()
      .split("\n");
    assertEquals(commands.length, 4);
    const [clone = "", init = "", up = "", add = ""] = commands;
    // The home has the clone; claude itself is not here.
    assert(/^git clone "\$REPOSITORY" ~\/a2c-smcp$/.test(clone), clone);
    assert(/^claude mcp add /.test(add), add);

    const [, call = ""] = /^\$ (deno run .* call .*)$/m.exec(readme) ?? [];
    assert(call, "The README calls no tool");

    await using home = await makeHome();
    await using made = start("bash", ["-c", init], {
      cwd: home.folder,
      env: home.env,
    });
    assertEquals((await made.status).code, 0, made.lines.join("\n"));
    const file = `${home.folder}/computer.json`;
    const written = await Deno.readTextFile(file);
    await Deno.writeTextFile(file, withVersions(written));

    await using child = start("bash", ["-c", `exec ${up}`], {
      cwd: home.folder,
      env: { ...home.env, SMCP_PORT: "0" }, // somebody may have the default one
    });
    const [, printed = "", url = ""] = await child.line(
      /^Claude Code: (claude mcp add .* (http:\S+))$/,
    );
    assertEquals(normalize(printed, home), add);
    await child.line(/^MCP server files: running, /);
    for (const [kind, connect] of Object.entries(CLIENTS)) {
      await using client = await connect({ url: new URL(url) });
      const names = (await client.tools()).map(({ name }) => name);
      const tool = names.find((name) => name.endsWith("__list_directory"));
      assert(tool, `${kind}: ${names}`);
      const { content } = await client.call(tool, { path: "." });
      assertEquals(content, [{ type: "text", text: "[FILE] computer.json" }]);
      await using called = start("bash", ["-c", call], {
        cwd: home.folder,
        env: { ...home.env, SMCP_URL: new URL(url).origin },
      });
      assertEquals((await called.status).code, 0, called.lines.join("\n"));
      assert(called.lines.includes("[FILE] computer.json"), kind);
      assertEquals((await client.tools()).length, names.length);
      await client.terminate();
    }
    assertEquals((await child.stop()).code, 0, child.lines.join("\n"));
  },
});
