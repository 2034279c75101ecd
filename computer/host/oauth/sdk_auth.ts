/**
 * OAuth of the MCP SDK: a file of its own, loaded with the first MCP server that asks for
 * authorization.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/client/auth"
export {
  auth,
  extractWWWAuthenticateParams,
} from "@modelcontextprotocol/sdk/client/auth.js";
