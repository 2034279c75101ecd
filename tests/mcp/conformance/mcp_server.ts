/**
 * The MCP server of the conformance suite as a child process.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/server/stdio"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { conformanceServer } from "./server.ts";

await conformanceServer().connect(new StdioServerTransport());
