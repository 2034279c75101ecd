/**
 * OAuth of the MCP SDK; loaded lazily when an MCP server first requires authorization.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/client/auth"
export {
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  refreshAuthorization,
  registerClient,
  selectClientAuthMethod,
  startAuthorization,
} from "@modelcontextprotocol/sdk/client/auth.js";
// @ts-types="@modelcontextprotocol/sdk/server/auth/errors"
export {
  InvalidClientError,
  InvalidGrantError,
  OAuthError,
  UnauthorizedClientError,
} from "@modelcontextprotocol/sdk/server/auth/errors.js";
// @ts-types="@modelcontextprotocol/sdk/shared/auth-utils"
export { checkResourceAllowed } from "@modelcontextprotocol/sdk/shared/auth-utils.js";
