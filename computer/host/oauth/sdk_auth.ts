/**
 * OAuth of the MCP SDK; loaded lazily when an MCP server first requires authorization.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/client/auth"
export {
  auth,
  extractWWWAuthenticateParams,
} from "@modelcontextprotocol/sdk/client/auth.js";
