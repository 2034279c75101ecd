import process from "node:process";
import { print } from "../../cli/print.ts";
import { ownCommand, shellWord } from "../../cli/own_command.ts";
import { DEFAULT_CONFIG_FILE } from "../util/defaults.ts";
import { writeConfig } from "./write_config.ts";

/** The configuration that `init` writes: the files of a folder, whose tools run without a question. */
export const exampleConfig = (folder: string) => ({
  servers: {
    files: {
      type: "stdio",
      server_parameters: {
        command: "npx",
        args: ["-y", "@modelcontextprotocol/server-filesystem", folder],
      },
      default_tool_meta: { auto_apply: true },
    },
  },
});

/** Writes a first configuration, and prints what comes next. */
export async function initConfig({ out }: { out: string }): Promise<void> {
  const folder = process.cwd();
  await writeConfig({ out }, exampleConfig(folder));
  const file = shellWord(out);
  print(
    `Wrote ${out}: agents may read and write the files in ${folder}, without confirmation; to require it, remove "auto_apply".
Next: ${ownCommand("smcp", process.execPath)} up --config ${file}`,
  );
}

/** Returns how to make a configuration file that is missing, with an example. */
export function howToBegin(file: string): string {
  const command = ownCommand("smcp-computer", process.execPath);
  const out = file === DEFAULT_CONFIG_FILE ? "" : ` --out ${shellWord(file)}`;
  const example = JSON.stringify(exampleConfig("."));
  return `write a first one with: ${command} init${out}; or take the MCP servers of Claude Code, Cursor and others with: ${command} import${out}; an example: ${example}`;
}
