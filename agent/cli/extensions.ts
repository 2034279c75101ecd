import { Buffer } from "node:buffer";
import { writeFile } from "node:fs/promises";
import process from "node:process";
import { UsageError } from "../../cli/run.ts";
import { columns, plainLines } from "../../cli/terminal_text.ts";
import type { PromptMessage, ResourceContents } from "../../protocol/mod.ts";
import type { ReadFlags } from "./documents.ts";
import {
  chooseComputer,
  type ComputerFlags,
  printJson,
  withAgent,
} from "./office.ts";
import { serverMeant } from "./server_names.ts";
import { headline } from "./words.ts";

/** Flags of `prompt`. */
export interface PromptFlags extends ComputerFlags {
  /** What it is filled in with. */
  arg: [string, string][];
}

/** Prints a resource of an MCP server, or writes it to a file. */
export async function readResource(
  uri: string,
  server: string,
  flags: ReadFlags,
): Promise<void> {
  const contents = await withAgent(flags, async (agent, signal) => {
    const computer = await chooseComputer(agent, flags, signal);
    const id = await serverMeant(agent, computer, server, signal);
    return await agent.readResource(computer, id, uri, { signal });
  });
  if (flags.json) return printJson(contents);
  if (flags.output !== undefined) {
    return await writeFile(flags.output, Buffer.concat(contents.map(bytesOf)));
  }
  for (const { text, blob, mimeType } of contents) {
    if (typeof text === "string") console.log(shown(text));
    else if (typeof blob === "string") {
      throw new UsageError(
        `${uri} is binary (${
          mimeType ?? "of unknown type"
        }): write it to a file with --output FILE`,
      );
    }
  }
}

/** Prints the prompts of a Computer. */
export async function prompts(flags: ComputerFlags): Promise<void> {
  const found = await withAgent(flags, async (agent, signal) => {
    const computer = await chooseComputer(agent, flags, signal);
    return await agent.getPrompts(computer, { signal });
  });
  if (flags.json) return printJson(found);
  if (found.length === 0) return console.log("No MCP server has prompts.");
  const rows = found.map(({ name, mcp_server, title, description }) => [
    name,
    mcp_server,
    headline(String(description ?? title ?? "")),
  ]);
  columns(rows).forEach((line) => console.log(line));
}

/** Prints the messages of a prompt. */
export async function prompt(
  name: string,
  server: string,
  flags: PromptFlags,
): Promise<void> {
  const { messages, description } = await withAgent(
    flags,
    async (agent, signal) => {
      const computer = await chooseComputer(agent, flags, signal);
      const id = await serverMeant(agent, computer, server, signal);
      return await agent.getPrompt(computer, id, name, {
        arguments: Object.fromEntries(flags.arg),
        signal,
      });
    },
  );
  if (flags.json) {
    return printJson({
      ...(description !== undefined && { description }),
      messages,
    });
  }
  for (const { role, content } of messages) {
    console.log(`${role}: ${shown(textOf(content))}`);
  }
}

const bytesOf = ({ text, blob }: ResourceContents): Buffer =>
  typeof text === "string"
    ? Buffer.from(text)
    : Buffer.from(typeof blob === "string" ? blob : "", "base64");

const textOf = (content: PromptMessage["content"]): string =>
  content.text ?? JSON.stringify(content);

const shown = (text: string): string =>
  process.stdout.isTTY ? plainLines(text) : text;
