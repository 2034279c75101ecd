/**
 * Recognizes MCP servers of other programs that are an office of A2C-SMCP, as `smcp up` prints them for MCP
 * clients: imported, the Computer would offer its office to the office itself.
 *
 * @module
 */
import { BlockList, isIP } from "node:net";
import type { MCPServerConfig } from "../../protocol/mod.ts";

/** The path of an office at a Server, `/mcp/OFFICE`. */
const OFFICE_PATH = /^\/mcp\/[^/]+\/?$/;

/** Programs whose subcommand `mcp` is the pipe to an office: paths, and names of packages with a version. */
const AGENT_PROGRAM = /(^|[\\/])(smcp-agent|agent[\\/]main)(\.\w+)?(@[^/@]*)?$/;
const AGENT_PACKAGE = /^((npm|jsr):\/?)?@a2c-smcp\/(agent|sdk@?[^/]*\/agent\/)/;

/** Programs whose first words are `agent mcp` then. */
const ANY_PROGRAM = /(^|[\\/])(smcp|main)(\.\w+)?(@[^/@]*)?$/;
const ANY_PACKAGE = /^((npm|jsr):\/?)?@a2c-smcp\/(cli|sdk)(@[^/]*)?$/;

/** An MCP server that is, or may be, an office. */
export interface OfficeEntry {
  /** How it is one, for people: its URL without query, or the command. */
  readonly shown: string;
  /** The address that shows whether it is; absent where the command does already. */
  readonly url?: URL;
}

/** Recognizes an office by the form of its configuration; a URL of that form may be another MCP server's. */
export function officeEntry(
  { type, server_parameters }: MCPServerConfig,
): OfficeEntry | undefined {
  if (type !== "stdio") return urlEntry(server_parameters.url);
  const { command, args } = server_parameters;
  // A shell has the whole command in one argument.
  const words = [command, ...args].flatMap((word) => word.split(/\s+/));
  if (isPipe(words)) return { shown: "smcp-agent mcp" };
  for (const word of words) {
    const found = urlEntry(word); // of a program that passes messages on
    if (found) return found;
  }
  return undefined;
}

function urlEntry(text: string): OfficeEntry | undefined {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (!OFFICE_PATH.test(url.pathname)) return undefined;
  return { shown: `${url.origin}${url.pathname}`, url };
}

/** Whether a command runs `smcp-agent mcp`, or `smcp agent mcp`, by whatever runs programs. */
function isPipe(words: readonly string[]): boolean {
  return words.some((word, at) => {
    const [first, second] = words.slice(at + 1)
      .filter((next) => !next.startsWith("-"));
    if (AGENT_PROGRAM.test(word) || AGENT_PACKAGE.test(word)) {
      return first === "mcp";
    }
    const isAny = ANY_PROGRAM.test(word) || ANY_PACKAGE.test(word);
    return isAny && first === "agent" && second === "mcp";
  });
}

const privateAddresses = new BlockList();
for (
  const [network, bits] of [
    ["127.0.0.0", 8],
    ["10.0.0.0", 8],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
    ["169.254.0.0", 16],
    ["100.64.0.0", 10], // of carriers and overlay networks
  ] as const
) privateAddresses.addSubnet(network, bits, "ipv4");
privateAddresses.addAddress("0.0.0.0", "ipv4"); // this machine, as servers print it
privateAddresses.addAddress("::", "ipv6");
privateAddresses.addAddress("::1", "ipv6");
privateAddresses.addSubnet("fc00::", 7, "ipv6");
privateAddresses.addSubnet("fe80::", 10, "ipv6");

/** Names that only a machine or its network resolves: one word, and the special-use ends (RFC 6761 and others). */
const PRIVATE_NAME = /^[^.]+$|\.(localhost|local|internal|lan|home\.arpa)$/i;

/** Returns whether the host of a URL is this machine or one of its own network, by name or address. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  const family = isIP(host);
  return family === 0
    ? PRIVATE_NAME.test(host)
    : privateAddresses.check(host, family === 4 ? "ipv4" : "ipv6");
}
