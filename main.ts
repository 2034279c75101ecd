/**
 * The command `smcp`: the commands of all roles, and `up`, a Server and this machine's Computer in
 * one process.
 *
 * ```sh
 * deno run -A main.ts up --config computer.json
 * deno run -A main.ts agent tools --office home
 * ```
 *
 * `mod.ts` loads this when it is the program that is run; npm's `smcp` always does. Only the command
 * that is asked for is loaded.
 *
 * @module
 */
import "./cli/prepare.ts";
import process from "node:process";
import { endProcess } from "./cli/run.ts";
import { runSmcp } from "./cli/smcp.ts";
import type { CreateServer } from "./computer/cli/up.ts";

const loadMcp = async () => (await import("./mcp/mod.ts")).mcpGateway;

const code = await runSmcp(process.argv.slice(2), {
  server: {
    summary: "Serve A2C-SMCP: offices of agents and computers",
    load: async () => {
      const { runServer, serverCommand } = await import(
        "./server/cli/command.ts"
      );
      return {
        run: (args) => runServer(args, loadMcp),
        make: () => serverCommand(process.env, () => {}),
      };
    },
  },
  computer: {
    summary: "Offer the tools of MCP servers in an office of A2C-SMCP",
    load: async () => {
      const { computerCommand, runComputer } = await import(
        "./computer/cli/command.ts"
      );
      return { run: runComputer, make: computerCommand };
    },
  },
  agent: {
    summary: "Inspect an office of A2C-SMCP and call its tools",
    load: async () => {
      const { agentCommand, runAgent } = await import("./agent/cli/command.ts");
      const loadPipe = async () => (await import("./mcp/mod.ts")).pipeOffice;
      return {
        run: (args) => runAgent(args, loadPipe),
        make: () => agentCommand(loadPipe),
      };
    },
  },
  up: {
    summary: "Serve the MCP servers of a configuration to agents here",
    load: async () => {
      const { runUp, upCommand } = await import("./computer/cli/up.ts");
      const { serverOfUp } = await import("./server/cli/up_server.ts");
      const createServer: CreateServer = (settings) =>
        serverOfUp(settings, loadMcp);
      return {
        run: (args) => runUp(createServer, args),
        make: () => upCommand(createServer),
      };
    },
  },
  clients: {
    summary: "Print the setup of each MCP client and agent",
    load: async () => {
      const { clientsCommand, runClients } = await import("./cli/clients.ts");
      return { run: runClients, make: clientsCommand };
    },
  },
});
await endProcess(code);
