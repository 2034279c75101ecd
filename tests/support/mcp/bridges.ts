/**
 * Programs that serve an MCP server over stdio at an HTTP address, ours among them, as a new user starts them.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toolsFolder } from "../../../tools/npm/node.ts";
import { venvWith } from "../../interop/support/venv.ts";
import { bridgeTools } from "./npm_tools.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The MCP server behind all: a program of Node without packages, whose tool answers with so many letters. */
const LETTERS = `
const out = (m) => process.stdout.write(JSON.stringify(m) + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => out({ jsonrpc: "2.0", id, result });
  if (method === "initialize") answer({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "letters", version: "1" } });
  else if (method === "tools/list") answer({ tools: [{ name: "letters", description: "x", inputSchema: { type: "object", properties: { count: { type: "integer" } } } }] });
  else if (method === "tools/call") answer({ content: [{ type: "text", text: "x".repeat(params.arguments.count) }] });
  else if (method === "ping") answer({});
  else if (id !== undefined) out({ jsonrpc: "2.0", id, error: { code: -32601, message: "none" } });
});`;

/** What a bridge is started with. */
interface Place {
  readonly node: string;
  /** The MCP server's file. */
  readonly server: string;
  readonly port: number;
  readonly folder: string;
}

/** Commands, of which the first one listens; the path of MCP there, and the tool's name. */
export interface Bridge {
  readonly path: string;
  readonly tool: string;
  /** Variables that it does not start without. */
  readonly env?: Readonly<Record<string, string>>;
  commands(place: Place): Promise<(readonly string[])[]>;
}

const npm = async (name: string, file: string): Promise<string> =>
  join((await bridgeTools()).folder, "node_modules", name, file);

/** Returns the Python of a package's own environment. */
async function pythonWith(name: string, pin: string): Promise<string> {
  const list = join(toolsFolder(), `${name}.txt`);
  await Deno.writeTextFile(list, `${pin}\n`);
  return await venvWith(join(toolsFolder(), name), list);
}

const main = (...args: readonly string[]): string[] => [
  ...[Deno.execPath(), "run", "-A", "--quiet", "--frozen"],
  ...["--config", join(ROOT, "deno.json"), ...args],
];

/** Writes a configuration as all clients of MCP have it. */
async function configured({ node, server, folder }: Place): Promise<string> {
  const file = join(folder, "mcp.json");
  const servers = { s: { command: node, args: [server] } };
  await Deno.writeTextFile(file, JSON.stringify({ mcpServers: servers }));
  return file;
}

const OURS_AT = { path: "/mcp/home", tool: "home__letters" };

/** The program that the others are compared with. */
export const BASE = "mcp-proxy 6.7.19 (npm)";
/** Our own, in one process and in two. */
export const OURS = "smcp up";
export const TWO = "smcp-server and smcp-computer";

/** By name and version. */
export const BRIDGES: Readonly<Record<string, Bridge>> = {
  [BASE]: {
    path: "/mcp",
    tool: "letters",
    commands: async ({ node, server, port }) => [[
      ...[node, await npm("mcp-proxy", "dist/bin/mcp-proxy.mjs")],
      ...["--port", `${port}`, "--", node, server],
    ]],
  },
  "supergateway 4.0.0 (npm)": {
    path: "/mcp",
    tool: "letters",
    commands: async ({ node, server, port }) => [[
      ...[node, await npm("supergateway", "dist/index.js")],
      ...["--stdio", `${node} ${server}`, "--outputTransport"],
      ...["streamableHttp", "--stateful", "--port", `${port}`],
    ]],
  },
  "FastMCP 4.2.3 (PyPI)": {
    path: "/mcp",
    tool: "letters",
    commands: async (place) => [[
      ...[await pythonWith("fastmcp", "fastmcp==4.2.3"), "-m", "fastmcp.cli"],
      ...["run", await configured(place), "--transport", "http"],
      ...["--port", `${place.port}`],
    ]],
  },
  "context-forge 1.0.7 (PyPI)": {
    path: "/mcp",
    tool: "letters",
    env: {
      JWT_SECRET_KEY: crypto.randomUUID().repeat(2),
      AUTH_ENCRYPTION_SECRET: crypto.randomUUID().repeat(2),
    },
    commands: async ({ node, server, port }) => [[
      await pythonWith(
        "context-forge",
        "mcp-contextforge-gateway==1.0.7.post20260921",
      ),
      ...["-m", "mcpgateway.translate", "--stdio", `${node} ${server}`],
      ...["--expose-streamable-http", "--port", `${port}`],
    ]],
  },
  [OURS]: {
    ...OURS_AT,
    commands: async (place) => [main(
      ...[join(ROOT, "main.ts"), "up", "--port", `${place.port}`, "--yes"],
      ...["--name", "home", "--config", await configured(place)],
    )],
  },
  [TWO]: {
    ...OURS_AT,
    commands: async (place) => {
      const url = `http://127.0.0.1:${place.port}`;
      const file = await configured(place);
      return [
        main(
          ...[join(ROOT, "server/main.ts"), "--mcp", "--no-limits"],
          ...["--port", `${place.port}`],
        ),
        main(
          ...[join(ROOT, "computer/main.ts"), "run", "--url", url, "--yes"],
          ...["--name", "home", "--office", "home", "--config", file],
        ),
      ];
    },
  },
};

/**
 * Returns the commands of a bridge, for a folder of its own.
 *
 * @param port where it is to listen
 */
export async function commandsOf(
  { commands }: Bridge,
  folder: string,
  port: number,
): Promise<(readonly string[])[]> {
  const { node } = await bridgeTools();
  const server = join(folder, "letters.cjs");
  await Deno.writeTextFile(server, LETTERS);
  return await commands({ node, server, port, folder });
}
