/**
 * The first ten minutes of the README, as they are written: from an empty folder and somebody's
 * configuration of Claude Desktop to a tool call.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { start } from "../support/child.ts";
import { codeBlocks } from "./_blocks.ts";
import { type Home, makeHome, startOnce } from "./_home.ts";
import { normalize, transcriptOf } from "./_transcript.ts";

const page = await Deno.readTextFile(
  new URL("../../README.md", import.meta.url),
);
const steps = transcriptOf(page);
const claude =
  (await codeBlocks()).find(({ example }) => example === "claude-desktop")
    ?.code ?? "";

/** Runs a line of a shell to its end; what it says beside its output is shown when it fails. */
async function outputOf(
  line: string,
  { folder, env }: Home,
  further: Record<string, string> = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("bash", {
    args: ["-c", line],
    cwd: folder,
    clearEnv: true,
    env: { ...env, ...further },
    stdin: "null",
  }).output();
  const [out = "", err = ""] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  assert(success, `${line}\n${out}${err}`);
  return out;
}

const isServing = (command: string): boolean => / up /.test(command);

Deno.test("the transcript has at most six commands", () => {
  assert(steps.length > 3 && steps.length <= 6, `${steps.length}`);
  assertEquals(steps.filter(({ command }) => isServing(command)).length, 1);
});

Deno.test({
  name:
    "the transcript of the README: from an empty folder and Claude Desktop's configuration to a tool call",
  timeout: 300_000,
  fn: async () => {
    await using home = await makeHome(claude);
    await startOnce(claude, home);
    await using stack = new AsyncDisposableStack();
    let further: Record<string, string> = {};
    for (const { command, output } of steps) {
      if (!isServing(command)) {
        const actual = await outputOf(command, home, further);
        assertEquals(normalize(actual, home).split("\n"), output, command);
        continue;
      }
      // Any free port in place of the default one, which somebody may have taken.
      const up = stack.use(
        start("bash", ["-c", `exec ${command}`], {
          cwd: home.folder,
          env: { ...home.env, SMCP_PORT: "0" },
        }),
      );
      const [, exact = "", url = ""] = await up.line(
        / {2}(.* --url (\S+) --office home)$/,
      );
      const running = output.filter((line) => line.includes(": running"));
      await Promise.all(
        running.map((line) => up.line(new RegExp(`^${RegExp.escape(line)}$`))),
      );
      await up.line(/^joined office home/);
      const lines = normalize(up.lines.join("\n"), home).split("\n")
        .filter((line) => !/"links" field|^ +at file:/.test(line)); // of Deno, about makeHome()
      // The MCP servers start at once, and each is ready when it is.
      assertEquals(lines.toSorted(), output.toSorted(), command);
      further = { SMCP_URL: url };

      const next = steps.find(({ command }) => command.includes(" tools "));
      assertEquals(
        normalize(await outputOf(exact, home), home).split("\n"),
        next?.output,
        "the line that it prints can be copied",
      );
      stack.defer(async () => {
        up.signal("SIGINT");
        assertEquals((await up.status).code, 0, up.lines.join("\n"));
      });
    }
  },
});
