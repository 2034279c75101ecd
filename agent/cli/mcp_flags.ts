import { Option } from "commander";
import { integer } from "../../cli/flags.ts";

/** The options of the command `mcp`, beside those of every command. */
export function mcpOptions(): Option[] {
  return [
    new Option(
      "--computer <name>",
      "only the tools of this Computer, under their own names",
    ).env("SMCP_COMPUTER"),
    patternOption("include", "only tools that match"),
    patternOption("exclude", "no tools that match"),
    new Option(
      "--tools <which>",
      "all tools, or two to search and call them with, for clients that cannot hold many",
    ).env("SMCP_TOOLS").choices(["all", "search"]),
    new Option(
      "--name-limit <count>",
      "the most characters of a tool's name, 24 to 128 (default: 48)",
    ).env("SMCP_NAME_LIMIT").argParser(integer(24, 128)),
    new Option(
      "--desktop-tools",
      "add tools that read windows and documents, for clients that show models no resources",
    ).env("SMCP_DESKTOP_TOOLS"),
    new Option(
      "--timeout <seconds>",
      "give a call up after so long, 1 to 3600 (default: 3600, the client decides)",
    ).env("SMCP_TIMEOUT").argParser(integer(1, 3600)),
  ];
}

const patternOption = (name: string, what: string): Option =>
  new Option(
    `--${name} <pattern>`,
    `${what}, such as laptop__* or tag:safe; repeatable`,
  ).env(`SMCP_${name.toUpperCase()}`)
    .argParser((pattern, before: string[]) => [...before, pattern])
    .default([], "none");
