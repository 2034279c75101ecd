import type {
  MCPServerConfig,
  MCPServerStdioParameters,
} from "../../protocol/mod.ts";
import { reasonOf } from "../_values.ts";
import { openConnection } from "./client_connection.ts";
import type { McpConnection } from "./connection.ts";
import {
  ssePatience,
  sseTransport,
  streamablePatience,
  streamableTransport,
} from "./http.ts";
import { StdioTransport } from "./stdio.ts";

/** Milliseconds that a child process gets for a request other than a tool call. */
const STDIO_REQUEST = 30_000;

/** How MCP servers are reached. */
export interface ConnectOptions {
  /** Milliseconds for a ping, after which a server counts as hung; default: as for any request. */
  readonly pongMs?: number;
}

/**
 * Starts or reaches the MCP server of a configuration, whose placeholders are replaced already.
 *
 * @param signal ends the attempt; nothing is left running then
 * @throws {Error} that says for a person what went wrong
 */
export function connectMcp(
  config: MCPServerConfig,
  signal: AbortSignal,
  { pongMs }: ConnectOptions = {},
): Promise<McpConnection> {
  switch (config.type) {
    case "stdio":
      return connectStdio(config.server_parameters, signal, pongMs);
    case "streamable": {
      const { terminate_on_close } = config.server_parameters;
      const { requestMs, silenceMs } = streamablePatience(
        config.server_parameters,
      );
      const transport = streamableTransport(config.server_parameters);
      return openConnection(transport, {
        requestMs,
        pongMs,
        signal,
        pingEveryMs: silenceMs / 2,
        ...(terminate_on_close &&
          { terminate: () => transport.terminateSession() }),
      });
    }
    case "sse": {
      const { requestMs, silenceMs } = ssePatience(config.server_parameters);
      return openConnection(sseTransport(config.server_parameters), {
        requestMs,
        pongMs,
        signal,
        pingEveryMs: silenceMs / 2,
      });
    }
  }
}

async function connectStdio(
  parameters: MCPServerStdioParameters,
  signal: AbortSignal,
  pongMs: number | undefined,
): Promise<McpConnection> {
  const transport = new StdioTransport(parameters);
  try {
    return await openConnection(transport, {
      requestMs: STDIO_REQUEST,
      pongMs,
      signal,
      explainLoss: () => transport.end,
    });
  } catch (error) {
    const reason = transport.end && !signal.aborted &&
        transport.end !== "was never started"
      ? `"${parameters.command}" ${transport.end} before it answered`
      : reasonOf(error);
    const diagnostics = transport.diagnostics;
    throw new Error(diagnostics ? `${reason}\n${diagnostics}` : reason, {
      cause: error,
    });
  }
}
