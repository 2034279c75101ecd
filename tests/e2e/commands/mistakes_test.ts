import { assertEquals, assertMatch } from "@std/assert";
import { runHere, runMain } from "../../support/command.ts";
import { agentMistakes } from "./mistakes/agent.ts";
import { computerMistakes } from "./mistakes/computer.ts";
import { serverMistakes } from "./mistakes/server.ts";
import { startWorld } from "./mistakes/world.ts";

Deno.test({
  name:
    "each typical mistake prints one line with cause and remedy, and exits with its code",
  timeout: 300_000,
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
      const end = mistake.needsProcess || env
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

/** Keeps Deno's cache when HOME differs. */
const denoDir = (): string =>
  Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
