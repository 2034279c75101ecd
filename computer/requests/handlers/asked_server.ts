import { withTimeout } from "../../../shared/async.ts";
import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";
import type { McpHost } from "../../host/host.ts";
import type { McpConnection } from "../../host/mcp/connection.ts";
import { requestFailure } from "../../tools/call_failure.ts";

/** Default limit for reading and listing, as for documents (spec §8.3). */
export const DEFAULT_TIMEOUT_S = 30;

/** What requests for one MCP server need. */
export interface AskedServerNeeds {
  /** The MCP servers. */
  readonly host: Pick<McpHost, "names">;
}

/**
 * Finds the MCP server that a request names.
 *
 * @throws {ProtocolError} 4014, before 0.3 404: it is not there; 404: it does not run; 4015: it does
 * not offer this
 */
export function askedServer(
  host: AskedServerNeeds["host"],
  name: string,
  capability: "resources" | "prompts",
): McpConnection {
  const connection = running(host, name);
  if (connection.capabilities[capability]) return connection;
  throw new ProtocolError(
    ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED,
    `MCP server "${name}" does not offer ${capability}`,
    {
      fields: {
        mcp_server: name,
        // The name of the field in the SDKs of 0.2.
        ...(!host.names.bundleIds && { mcp_server_name: name }),
        capability,
      },
    },
  );
}

/**
 * Waits for an MCP server's answer.
 *
 * @param timeout in seconds
 * @throws {ProtocolError} 408 it did not answer in time, 400 or 500 it answered with an error
 */
export async function answerOf<T>(
  name: string,
  timeout: number | undefined = DEFAULT_TIMEOUT_S,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new ProtocolError(
    ErrorCode.TIMEOUT,
    `MCP server "${name}" did not answer within ${timeout} s`,
    { fields: { mcp_server: name } },
  );
  try {
    return await withTimeout(timeout * 1000, ask, { error: () => late });
  } catch (error) {
    throw error === late ? late : requestFailure(name, error);
  }
}

function running(host: AskedServerNeeds["host"], name: string): McpConnection {
  const server = host.names.at(name);
  if (server?.connection) return server.connection;
  const reason = server && `it is ${server.status.state}`;
  throw new ProtocolError(
    server || !host.names.bundleIds
      ? ErrorCode.NOT_FOUND
      : ErrorCode.MCP_SERVER_NOT_FOUND,
    reason
      ? `MCP server "${name}" cannot be asked: ${reason}`
      : `There is no MCP server "${name}" on this Computer`,
    { fields: { mcp_server: name, ...(reason && { reason }) } },
  );
}
