/**
 * The recipes of docs/mcp.md for programs that take a URL alone, run as they are written.
 *
 * @module
 */
import { MCP_CLIENTS } from "./scenes/mcp_clients.ts";
import { play } from "./support/scene.ts";

play(MCP_CLIENTS);
