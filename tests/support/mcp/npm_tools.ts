import { delimiter, dirname, join } from "node:path";
import { type Child, start } from "../child.ts";
import { findNode, toolsFolder } from "../../../tools/npm/node.ts";
import { installPackages } from "../../../tools/npm/npm_package.ts";

/** A folder with commands of npm, and the Node that runs them. */
export interface NpmTools {
  /** The folder that has `node_modules`. */
  readonly folder: string;
  /** The program of Node. */
  readonly node: string;
  /** What the commands need in their environment: they run the first `node` in PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** Returns the path of a command of one of the packages. */
  program(name: string): string;
  /** Starts a command of one of the packages, without a terminal. */
  start(name: string, args: readonly string[], options?: StartOptions): Child;
}

/** How a command is started. */
export interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What MCP itself offers to test servers with. */
const MCP_TOOLS = [
  "@modelcontextprotocol/conformance@0.2.0-alpha.12",
  "@modelcontextprotocol/inspector@2.12.0",
];

/** MCP clients that people use. */
const CLIENTS = ["@anthropic-ai/claude-code@2.1.330", "@openai/codex@0.169.0"];

/** Cloudflare's runtime, and what runs it on this machine. */
const EDGE_TOOLS = ["miniflare@4.20260426.0"];

/** What else serves an MCP server over HTTP. */
const BRIDGES = ["mcp-proxy@6.7.19", "supergateway@4.0.0"];

/** They need at least Node 22.19. */
const NODE_MAJOR = 24;

/** Finds the conformance suite and the Inspector, which it installs once from npm. */
export const mcpTools = (): Promise<NpmTools> =>
  npmTools("mcp-tools", MCP_TOOLS);

/** Finds Claude Code and Codex, which it installs once from npm. */
export const realClients = (): Promise<NpmTools> =>
  npmTools("mcp-clients", CLIENTS);

/** Finds other bridges from stdio to HTTP, which it installs once from npm. */
export const bridgeTools = (): Promise<NpmTools> =>
  npmTools("mcp-bridges", BRIDGES);

/** Finds Miniflare with workerd, which it installs once from npm. */
export const edgeTools = (): Promise<NpmTools> =>
  npmTools("edge-tools", EDGE_TOOLS);

/** Finds packages of npm in the user's cache folder, where it installs them once. */
export async function npmTools(
  name: string,
  packages: readonly string[],
): Promise<NpmTools> {
  const node = await findNode(NODE_MAJOR);
  const folder = join(toolsFolder(), name);
  const list = join(folder, "installed.json");
  const wanted = JSON.stringify(packages);
  const installed = await Deno.readTextFile(list).catch(() => undefined);
  if (installed !== wanted) {
    await Deno.mkdir(folder, { recursive: true });
    await installPackages(folder, ...packages);
    await Deno.writeTextFile(list, wanted);
  }
  const path = Deno.env.get("PATH") ?? "";
  const env = {
    PATH: node === "node" ? path : `${dirname(node)}${delimiter}${path}`,
  };
  const program = (command: string) =>
    join(folder, "node_modules", ".bin", command);
  return {
    folder,
    node,
    env,
    program,
    start: (command, args, { cwd = folder, env: more = {} } = {}) =>
      start(program(command), args, { cwd, env: { ...env, ...more } }),
  };
}
