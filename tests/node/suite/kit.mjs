// What the programs of the suite share: the MCP server, and an office over sockets.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { SmcpAgent } from "@a2c-smcp/sdk/agent";
import { SmcpComputer } from "@a2c-smcp/sdk/computer";
import { createSmcpServer } from "@a2c-smcp/sdk/server";

export const OFFICE = "north";

/** The MCP servers of a Computer: `mcp_server.mjs` as a child process. */
export const servers = (more = {}) => ({
  fixture: {
    type: "stdio",
    server_parameters: { command: process.execPath, args: ["mcp_server.mjs"] },
    default_tool_meta: { auto_apply: true },
    ...more,
  },
});

/** A Server, closed after the test. */
export async function listen(t, options, listening) {
  const server = createSmcpServer(options);
  t.after(() => server.close({ graceMs: 0 }));
  return { server, ...await server.listen(listening) };
}

/** An Agent, closed after the test. */
export function agentOf(t, options) {
  const agent = new SmcpAgent({ name: "ann", ...options });
  t.after(() => agent.close());
  return agent;
}

/** A Computer with the MCP server and an Agent, joined; closed after the test. */
export async function members(t, common, more) {
  const computer = new SmcpComputer({
    ...common,
    name: "pc",
    servers: servers(more),
  });
  t.after(() => computer.close());
  await computer.connect();
  await computer.join(OFFICE);
  await computer.serversSettled();
  const agent = agentOf(t, common);
  await agent.connect();
  await agent.join(OFFICE);
  await agent.toolsSettled();
  return { agent, computer };
}

/** A folder, deleted after the test. */
export async function folderOf(t) {
  const folder = await mkdtemp(join(tmpdir(), "smcp-node-"));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}
