import { assert, assertEquals, assertMatch } from "@std/assert";
import { exampleCode } from "./blocks.ts";
import { type Home, makeHome, NAMED_HOME } from "./home.ts";
import { start } from "../../support/child.ts";

/** A command of a transcript, and what it wrote. */
export interface Step {
  /** As it was typed. */
  readonly command: string;
  /** Its output, line by line. */
  readonly output: readonly string[];
}

/** The blocks of a page that show a terminal: what follows `$ `, and what came of it. */
export function transcriptOf(page: string): Step[] {
  const blocks = page.matchAll(/^```console\n([^]*?)^```$/gm);
  return [...blocks].flatMap(([, text = ""]) =>
    text.split(/^\$ /m).slice(1).map((step) => {
      const [command = "", ...output] = step.trimEnd().split("\n");
      return { command, output };
    })
  );
}

/** What a transcript says of a machine: its paths, ports and tokens, and how long things took. */
export function normalize(text: string, { home }: Home): string {
  return text.replaceAll(home, NAMED_HOME)
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8787")
    .replaceAll(/([ #]token[ =])[0-9a-f]{64}$/gm, "$1…")
    .replaceAll(/\d+ ms$/gm, "9 ms").trimEnd();
}

/**
 * Does what a transcript shows, in an empty folder of somebody who has Claude Desktop, and fails
 * where anything else comes of it.
 *
 * @param prepare what has to be there before; adds to the environment
 */
export async function play(
  steps: readonly Step[],
  prepare = (_: Home): Promise<Record<string, string>> => Promise.resolve({}),
): Promise<void> {
  const claude = await exampleCode("claude-desktop");
  await using home = await makeHome(claude);
  let env = { ...home.env, ...await prepare(home) };
  await using stack = new AsyncDisposableStack();
  for (const { command, output } of steps) {
    if (!isServing(command)) {
      const actual = await outputOf(command, home, env);
      assertEquals(normalize(actual, home).split("\n"), output, command);
      continue;
    }
    // Any free port in place of the default one, which somebody may have taken.
    const up = stack.use(
      start("bash", ["-c", `exec ${command}`], {
        cwd: home.folder,
        env: { ...env, SMCP_PORT: "0" },
        group: true, // npx is in between
      }),
    );
    const [, exact = "", url = ""] = await up.line(
      /^Agents: (.* --url (\S+) --office home)$/,
    );
    await Promise.all(
      output.filter((line) => / running, |^joined /.test(line))
        .map((line) => up.line(RegExp(`^${RegExp.escape(line)}$`))),
    );
    const lines = normalize(up.lines.join("\n"), home).split("\n")
      .filter((line) => !/"links" field|^ +at file:/.test(line)); // of Deno, about makeHome()
    // The MCP servers start at once, and each is ready when it is.
    assertEquals(lines.toSorted(), output.toSorted(), command);
    env = { ...env, SMCP_URL: url };

    const copied = normalize(await outputOf(exact, home, env), home)
      .split("\n");
    const shown = steps.find(({ command }) => command.includes(" tools "));
    if (shown) {
      assertEquals(copied, shown.output, "the line it prints can be copied");
    } else {
      assertMatch(copied[0] ?? "", /^laptop: \d+ tools$/);
    }
    stack.defer(async () => {
      up.signal("SIGINT");
      await up.line(/^stopping$/);
      const { code } = await up.status;
      assert(code === 0 || code === 130, `${code}`); // npx says which signal it was
    });
  }
}

/** Tells whether a command stays until it is stopped. */
export const isServing = (command: string): boolean => / up /.test(command);

/** Runs a line of a shell to its end; what it says beside its output is shown when it fails. */
async function outputOf(
  line: string,
  { folder }: Home,
  env: Record<string, string>,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("bash", {
    args: ["-c", line],
    cwd: folder,
    clearEnv: true,
    env,
    stdin: "null",
  }).output();
  const [out = "", err = ""] = [stdout, stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  assert(success, `${line}\n${out}${err}`);
  return out;
}
