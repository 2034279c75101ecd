/**
 * The permissions that `docs/permissions.md` gives to each role: all of them are enough, and without any one
 * of them there is one line that names it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { start } from "../support/child.ts";
import { withVersions } from "../support/computer/reference_servers.ts";
import { codeBlocks } from "./support/blocks.ts";
import { makeHome } from "./support/home.ts";

const blocks = await codeBlocks();
const configuration = blocks.find(({ example, at }) =>
  example === "configuration" && at.startsWith("README")
);
const lines = blocks.find(({ example }) => example === "permissions")
  ?.code.trim().split("\n") ?? [];

/** Each way to leave out one permission, or one of several values of it; and which it is. */
function lesser(line: string): [missing: string, line: string][] {
  return line.split(" ").filter((word) => word.startsWith("--allow-"))
    .flatMap((flag): [string, string][] => {
      const [name = "", values] = flag.split("=");
      const missing = name.replace("--allow-", "");
      const parts = values?.split(",") ?? [];
      const ways = parts.length < 2
        ? [""]
        : parts.map((part) =>
          `${name}=${parts.filter((other) => other !== part)}`
        );
      return ways.map((way) => [missing, line.replace(flag, way)]);
    });
}

Deno.test({
  name: "the permissions of the page are enough for each role, and needed",
  timeout: 600_000,
  fn: async (t) => {
    await using home = await makeHome();
    await Deno.writeTextFile(
      `${home.folder}/computer.json`,
      withVersions(configuration?.code ?? ""),
    );
    let address = "127.0.0.1:8787"; // of the page
    const run = (line: string) =>
      start("bash", [
        "-c",
        `exec ${line.replaceAll("127.0.0.1:8787", address)}`,
      ], {
        cwd: home.folder,
        env: {
          ...home.env,
          DENO_NO_PROMPT: "1",
          SMCP_PORT: "0",
          SMCP_URL: `http://${address}`,
        },
      });
    const [server, computer, agent, ...rest] = lines;
    assert(server && computer && agent);
    assertEquals(rest, []);

    await using serving = run(server);
    const [, url = ""] = await serving.line(/http:\/\/(127\.0\.0\.1:\d+) /);
    address = url;
    await using hosting = run(computer);
    await hosting.line(/files: running/);
    await hosting.line(/joined office demo/);
    await using asking = run(agent);
    assertEquals((await asking.status).code, 0, asking.lines.join("\n"));
    await asking.line(/ computer /);
    assertEquals((await hosting.stop()).code, 0, hosting.lines.join("\n"));

    for (const [missing, line] of lines.flatMap(lesser)) {
      await t.step(line, async () => {
        await using child = run(line);
        await child.line(
          RegExp(`Requires ${missing} access.*--allow-${missing} flag$`),
        );
        await child.stop();
        const text = child.lines.join("\n");
        assertEquals(/^ +at (?!file:\S+deno\.json$)/m.test(text), false, text);
      });
    }
  },
});
