import { assertEquals, assertMatch } from "@std/assert";
import { runHere, runMain } from "../../support/command.ts";
import { agentMistakes } from "./mistakes/agent.ts";
import { computerMistakes } from "./mistakes/computer.ts";
import { serverMistakes } from "./mistakes/server.ts";
import { type Mistake, startWorld } from "./mistakes/world.ts";

Deno.test({
  name:
    "each typical mistake prints one line with cause and remedy, and exits with its code",
  timeout: 600_000, // some forty processes in sequence, the others in this one
}, async (t) => {
  await using world = await startWorld();
  for (
    const mistake of [
      ...agentMistakes(world),
      ...computerMistakes(world),
      ...serverMistakes(world),
    ]
  ) {
    const { name, command, args, env, code, says, problem } = mistake;
    await t.step(name, async () => {
      const end = needsProcess(mistake)
        ? await runMain(command, args, {
          env: { DENO_DIR: denoDir(), ...env },
          cwd: world.directory,
        })
        : await runHere(command, args);
      const all = end.stdout + end.stderr;
      const errors = all.split("\n").filter((line) =>
        line.startsWith("error: ")
      );
      assertEquals(errors.length, 1, all);
      if (problem) {
        const problems = all.split("\n").filter((line) =>
          line.startsWith("problem: ")
        );
        assertEquals(problems.length, 1, all);
        assertMatch(problems[0] ?? "", problem);
      }
      assertMatch(errors[0] ?? "", says);
      assertEquals(end.code, code, all);
      assertEquals(/^\s+at .*:\d+:\d+/m.test(all), false, all); // a stack trace
    });
  }
});

/** Returns whether a command has an environment of its own, or leaves something behind in its process. */
const needsProcess = (
  { command, args: [first = ""], env }: Mistake,
): boolean =>
  env !== undefined ||
  command !== "agent" && !["key", "import", "completion"].includes(first);

/** Keeps Deno's cache when HOME differs. */
const denoDir = (): string =>
  Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
