import { writeFile } from "node:fs/promises";
import process from "node:process";
import { UsageError } from "../../cli/run.ts";
import { columns, plainLines } from "../../cli/terminal_text.ts";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
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
    }).catch((error) => {
      throw explained(error, name, path);
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

/** Says what to do about a skill, or a file of it, that there is not. */
function explained(
  error: unknown,
  name: string,
  path: string = "SKILL.md",
): unknown {
  if (!(error instanceof ProtocolError)) return error;
  if (error.code === ErrorCode.MCP_SERVER_NOT_FOUND) {
    return new Error(`There is no skill "${name}"; "skills" lists them`, {
      cause: error,
    });
  }
  if (error.code !== ErrorCode.SKILL_NOT_ACCESSIBLE) return error;
  const { reason } = error.details ?? {};
  const why = REASONS.get(reason) ?? `is not given out (${reason})`;
  return new Error(`${path} of skill "${name}" ${why}`, { cause: error });
}

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ["not_found", "does not exist; its SKILL.md names its files"],
  ["traversal", "leads out of its folder; give a path below it"],
  ["forbidden", "has secrets of its Computer, which keeps them"],
  ["too_large", "is too large to be fetched"],
]);
