import { writeFile } from "node:fs/promises";
import process from "node:process";
import { UsageError } from "../../cli/run.ts";
import { columns, plainLines } from "../../cli/terminal_text.ts";
import type { ReadFlags } from "./documents.ts";
import {
  chooseComputer,
  type ComputerFlags,
  printJson,
  withAgent,
} from "./office.ts";
import { headline } from "./words.ts";

/** Prints the skills of a Computer. */
export async function skills(flags: ComputerFlags): Promise<void> {
  const found = await withAgent(flags, async (agent, signal) => {
    const computer = await chooseComputer(agent, flags, signal);
    return await agent.getSkills(computer, { signal });
  });
  if (flags.json) return printJson(found);
  if (found.length === 0) return console.log("The Computer has no skills.");
  const rows = found.map(({ name, source, description }) => [
    name,
    source,
    headline(description),
  ]);
  columns(rows).forEach((line) => console.log(line));
}

/** Prints a file of a skill, or writes it to a file. */
export async function skill(
  name: string,
  path: string | undefined,
  flags: ReadFlags,
): Promise<void> {
  await withAgent(flags, async (agent, signal) => {
    const computer = await chooseComputer(agent, flags, signal);
    const file = await agent.getSkill(computer, name, {
      ...(path !== undefined && { path }),
      signal,
    });
    const { text, bytes, stream: _, ...facts } = file;
    if (flags.output !== undefined) {
      await writeFile(flags.output, await bytes());
      return flags.json ? printJson(facts) : undefined;
    }
    const found = await text().catch((error) => {
      if (!(error instanceof TypeError)) throw error;
      throw new UsageError(
        `${facts.path} is binary (${facts.mimeType}): write it to a file with --output FILE`,
      );
    });
    if (flags.json) return printJson({ ...facts, text: found });
    if (process.stdout.isTTY) console.log(plainLines(found));
    else process.stdout.write(found);
  });
}
