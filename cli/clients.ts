/**
 * How agents and MCP clients of this machine reach an office: the banner of `smcp up` in a few lines,
 * and the command `smcp clients` in full.
 *
 * @module
 */
import { Command } from "commander";
import process from "node:process";
import { PROTOCOL_NAMES } from "../protocol/version.ts";
import { addHelp, addOptions, option, readName } from "./flags.ts";
import { commandHint, ownWords, shellWord } from "./own_command.ts";
import { printContent } from "./print.ts";
import { reporting, runCommand } from "./run.ts";
import { protocolOption } from "./server_flags.ts";
import { describeVersions } from "./version.ts";

/** An office, and how agents connect to its Server. */
export interface OfficeAddress {
  /** The URL of the Server. */
  readonly url: string;
  /** Where MCP clients reach it; as `url` by default. */
  readonly publicUrl?: string | undefined;
  /** The office. */
  readonly office: string;
  /** The version of A2C-SMCP; `auto` or absent: the newest of the Server. */
  readonly protocol?: string | undefined;
}

/** Runs the command `clients`, and returns the exit code. */
export const runClients = (args: readonly string[]): Promise<number> =>
  runCommand(clientsCommand, ["clients", ...args]);

/** Makes `smcp` with the command `clients` alone. */
export function clientsCommand(): Command {
  const program = reporting(new Command("smcp"), process.env)
    .version(describeVersions())
    .addHelpText("afterAll", commandHint("smcp", process.execPath));
  const command = addHelp(
    program.command("clients"),
    "Print the setup of each MCP client and agent",
    ["smcp clients", "smcp clients --office demo"],
  );
  addOptions(
    command,
    option("--url <url>", "the Server's URL").default("http://127.0.0.1:8787"),
    option("--office <office>", "the office of the tools")
      .argParser(readName("--office", "SMCP_OFFICE")).default("home"),
    protocolOption(command),
  ).action((address: OfficeAddress) => printContent(clientsText(address)));
  return program;
}

/**
 * Returns which versions a Server serves, and how to reach an office: at most four lines, the last ones
 * each with a command to copy.
 *
 * @param mcp whether the Server serves MCP
 */
export function bannerLines(address: OfficeAddress, mcp: boolean): string[] {
  const own = shellWord(mcpUrl(address));
  const first = PROTOCOL_NAMES[0];
  const last = PROTOCOL_NAMES.at(-1);
  return [
    `Serving A2C-SMCP ${first} to ${last} on ${address.url}`,
    `Agents: ${agentCommand("tools", address)}`,
    ...(mcp
      ? [`Claude Code: claude mcp add --transport http office ${own}`]
      : []),
    `${mcp ? "Other MCP clients, and code" : "In code"}: ${
      [...ownWords("smcp", process.execPath), "clients", ...flagsOf(address)]
        .map(shellWord).join(" ")
    }`,
  ];
}

/** Describes each kind of access to an office. */
function clientsText(address: OfficeAddress): string {
  const { url, office } = address;
  const own = mcpUrl(address);
  const text = JSON.stringify(own);
  const [program, ...args] = agentWords("mcp", address);
  return `On the command line:
  ${agentCommand("tools", address)}

In code:
  import { SmcpAgent } from "@a2c-smcp/sdk/agent";
  const agent = new SmcpAgent({ url: ${JSON.stringify(url)}, name: "agent"${
    isNamed(address) ? `, protocol: "${address.protocol}"` : ""
  } });
  await agent.connect();
  await agent.join(${JSON.stringify(office)});

Claude Code:
  claude mcp add --transport http office ${shellWord(own)}

Codex, in ~/.codex/config.toml:
  [mcp_servers.office]
  url = ${text}

Cursor, in ~/.cursor/mcp.json:
  {"mcpServers": {"office": {"url": ${text}}}}

VS Code, in .vscode/mcp.json:
  {"servers": {"office": {"type": "http", "url": ${text}}}}

Windsurf, in ~/.codeium/windsurf/mcp_config.json:
  {"mcpServers": {"office": {"serverUrl": ${text}}}}

Claude Desktop, which starts a program, in claude_desktop_config.json:
  {"mcpServers": {"office": ${JSON.stringify({ command: program, args })}}}`;
}

/** Returns the words of a command of `smcp-agent` in the office. */
const agentWords = (name: string, address: OfficeAddress): string[] => [
  ...ownWords("smcp-agent", process.execPath),
  name,
  ...flagsOf(address),
];

const agentCommand = (name: string, address: OfficeAddress): string =>
  agentWords(name, address).map(shellWord).join(" ");

const flagsOf = (address: OfficeAddress): string[] => [
  "--url",
  address.url,
  "--office",
  address.office,
  ...(isNamed(address) ? ["--protocol", address.protocol] : []),
];

const mcpUrl = (
  { url, publicUrl = url, office }: OfficeAddress,
): string =>
  `${publicUrl.replace(/\/$/, "")}/mcp/${encodeURIComponent(office)}`;

/** Returns whether agents have to name the version, since the Server serves others, too. */
const isNamed = (
  address: OfficeAddress,
): address is OfficeAddress & { readonly protocol: string } =>
  address.protocol !== undefined && address.protocol !== "auto";
