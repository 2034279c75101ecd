/**
 * How agents and MCP clients of this machine reach an office: the banner of `smcp up` in a few lines,
 * and the command `smcp clients` in full.
 *
 * @module
 */
import { Command } from "commander";
import process from "node:process";
import { PROTOCOL_NAMES } from "../protocol/version.ts";
import {
  addHelp,
  addOptions,
  option,
  publicUrlOption,
  readName,
} from "./flags.ts";
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
  /** What clients need; by default nothing. */
  readonly access?: Access | undefined;
}

/** What clients need: nothing, a key, or a person who signs in for programs that take no key. */
export type Access = typeof ACCESS[number];

const ACCESS = ["open", "key", "sign-in"] as const;

/** What stands for the key where a program reads no variable. */
const KEY = "KEY";
/** The variable of the key, which commands and some clients read. */
const KEY_VARIABLE = "SMCP_API_KEY";

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
    publicUrlOption(),
    option(
      "--access <what>",
      "what clients need: nothing, a key, or a person who signs in",
    ).choices(ACCESS).default("open"),
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
  const withKey = needsKey(address) ? `, with the key in ${KEY_VARIABLE}` : "";
  const first = PROTOCOL_NAMES[0];
  const last = PROTOCOL_NAMES.at(-1);
  return [
    `Serving A2C-SMCP ${first} to ${last} on ${address.url}`,
    `Agents${withKey}: ${agentCommand("tools", address)}`,
    ...(mcp ? [`Claude Code: ${claudeCode(address)}`] : []),
    `${mcp ? "Other MCP clients, and code" : "In code"}: ${
      [
        ...ownWords("smcp", process.execPath),
        "clients",
        ...flagsOf(address),
        ...clientFlags(address),
      ].map(shellWord).join(" ")
    }`,
  ];
}

/** Describes each kind of access to an office. */
function clientsText(address: OfficeAddress): string {
  const { url, office, access } = address;
  const own = mcpUrl(address);
  const text = JSON.stringify(own);
  const [command, ...args] = agentWords("mcp", address);
  const isKeyed = needsKey(address);
  const program = {
    command,
    args,
    ...(isKeyed && { env: { [KEY_VARIABLE]: KEY } }),
  };
  const headers = access === "key" && { headers: { Authorization: BEARER } };
  const signIn = (how: string) => access === "sign-in" ? `\n  ${how}` : "";
  const json = (value: object) => JSON.stringify(value);
  return `${lead(address)}On the command line${
    isKeyed ? `, with the key in ${KEY_VARIABLE}` : ""
  }:
  ${agentCommand("tools", address)}

In code:
  import { SmcpAgent } from "@a2c-smcp/sdk/agent";
  const agent = new SmcpAgent({ url: ${JSON.stringify(url)}, name: "agent"${
    isNamed(address) ? `, protocol: "${address.protocol}"` : ""
  }${isKeyed ? `, auth: { api_key: "${KEY}" }` : ""} });
  await agent.connect();
  await agent.join(${JSON.stringify(office)});

Claude Code:
  ${claudeCode(address)}

Codex, in ~/.codex/config.toml:
  [mcp_servers.office]
  url = ${text}${
    access === "key" ? `\n  bearer_token_env_var = "${KEY_VARIABLE}"` : ""
  }${signIn("# then: codex mcp login office")}

Cursor, in ~/.cursor/mcp.json:
  ${json({ mcpServers: { office: { url: own, ...headers } } })}

VS Code, in .vscode/mcp.json:
  ${json({ servers: { office: { type: "http", url: own, ...headers } } })}

Windsurf, in ~/.codeium/windsurf/mcp_config.json:
  ${json({ mcpServers: { office: { serverUrl: own, ...headers } } })}

Claude Desktop, which starts a program, in claude_desktop_config.json:
  ${json({ mcpServers: { office: program } })}${hosted(address)}`;
}

/** Returns how programs of others reach the office, which need https. */
const hosted = (address: OfficeAddress): string => {
  const isReached = address.access === "sign-in" &&
    address.publicUrl?.startsWith("https:");
  return isReached
    ? `\n\nclaude.ai, its apps and ChatGPT, as a connector:\n  ${
      gatewayUrl(address)
    }`
    : "";
};

/** A header with a key. */
const BEARER = `Bearer ${KEY}`;

/** Returns whether commands and code need a key. */
const needsKey = ({ access = "open" }: OfficeAddress): boolean =>
  access !== "open";

/** Returns what stands before the setups. */
const lead = (address: OfficeAddress): string =>
  needsKey(address)
    ? `Put the key in place of ${KEY}${
      address.access === "sign-in"
        ? "; a client without one opens a page that asks for it"
        : ""
    }.\n\n`
    : "";

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

const mcpUrl = (address: OfficeAddress): string =>
  `${gatewayUrl(address)}/${encodeURIComponent(address.office)}`;

/** Returns the URL of the gateway, where a person who signs in names the office. */
const gatewayUrl = ({ url, publicUrl = url }: OfficeAddress): string =>
  `${publicUrl.replace(/\/$/, "")}/mcp`;

/** Returns the flags that only `clients` has. */
const clientFlags = ({ publicUrl, access = "open" }: OfficeAddress) => [
  ...(publicUrl === undefined ? [] : ["--public-url", publicUrl]),
  ...(access === "open" ? [] : ["--access", access]),
];

/** Returns the command that adds the office to Claude Code. */
function claudeCode(address: OfficeAddress): string {
  const add = `claude mcp add --transport http office ${
    shellWord(mcpUrl(address))
  }`;
  switch (address.access ?? "open") {
    case "open":
      return add;
    case "key":
      return `${add} --header "Authorization: Bearer $${KEY_VARIABLE}"`;
    case "sign-in":
      return `${add} && claude mcp login office`;
  }
}

/** Returns whether agents have to name the version, since the Server serves others, too. */
const isNamed = (
  address: OfficeAddress,
): address is OfficeAddress & { readonly protocol: string } =>
  address.protocol !== undefined && address.protocol !== "auto";
