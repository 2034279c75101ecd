import { withDeadline } from "../../../shared/async.ts";
import type {
  MCPServerStdioParameters,
  MCPServerStreamableHttpConfig,
  MCPSSEConfig,
} from "../../../protocol/mod.ts";
import { loadPackages } from "../../../shared/packages.ts";
import type {
  InProcessServer,
  ServerConfig,
} from "../../config/server_config.ts";
import { reasonOf } from "../../util/values.ts";
import { AuthorizationError } from "../oauth/authorization_error.ts";
import { authorizedFetch, type Authorizer } from "../oauth/authorized_fetch.ts";
import type { McpConnection } from "./connection.ts";
import { DEFAULT_MESSAGE_BYTES } from "./message_limit.ts";
import { patientFetch } from "./patient_fetch.ts";

/** What an MCP server on this machine gets for a request other than a tool call. */
const LOCAL_REQUEST_MS = 30_000;

/** How MCP servers are reached. */
export interface ConnectOptions {
  /** Milliseconds for a ping, after which a server counts as hung; default: as for any request. */
  readonly pongMs?: number | undefined;
  /** Bytes that one message of an MCP server may have; default 64 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Who has tokens for an MCP server over HTTP whose configuration has no credentials. */
  readonly authorizer?:
    | ((server: string, url: string) => Authorizer | undefined)
    | undefined;
}

/**
 * Starts or reaches the MCP server of a configuration, whose placeholders are replaced already.
 *
 * The MCP SDK is loaded with the first, and of it what that one is reached over.
 *
 * @param signal ends the attempt; nothing is left running then
 * @throws {AuthorizationError} when it does not let the Computer in
 * @throws {Error} that says for a person what else went wrong
 */
export const connectMcp = (
  config: ServerConfig,
  signal: AbortSignal,
  options: ConnectOptions = {},
): Promise<McpConnection> => {
  switch (config.type) {
    case "stdio":
      return connectStdio(config.server_parameters, signal, options);
    case "in-process":
      return connectLocal(config.server, signal, options);
    default:
      return connectHttp(config, signal, options);
  }
};

const withMcpSdk = <T>(load: () => Promise<T>): Promise<T> =>
  loadPackages("reach MCP servers", ["@modelcontextprotocol/sdk"], load);

async function connectHttp(
  config: MCPServerStreamableHttpConfig | MCPSSEConfig,
  signal: AbortSignal,
  { pongMs, authorizer, maxMessageBytes = DEFAULT_MESSAGE_BYTES }:
    ConnectOptions,
): Promise<McpConnection> {
  const [{ openConnection }, http] = await withMcpSdk(() =>
    Promise.all([import("./client_connection.ts"), import("./http.ts")])
  );
  const { url, headers } = config.server_parameters;
  const patience = config.type === "sse"
    ? http.ssePatience(config.server_parameters)
    : http.streamablePatience(config.server_parameters);
  const hasCredentials = Object.keys(headers ?? {})
    .some((name) => name.toLowerCase() === "authorization");
  let refusal: unknown;
  const fetch = authorizedFetch(
    patientFetch(patience, maxMessageBytes),
    hasCredentials ? undefined : authorizer?.(config.name, url),
    (error) => refusal = error,
  );
  const options = {
    requestMs: patience.requestMs,
    pongMs,
    pingEveryMs: patience.silenceMs / 2,
  };
  const open = (signal: AbortSignal) => {
    if (config.type === "sse") {
      const transport = http.sseTransport(config.server_parameters, fetch);
      return openConnection(transport, { ...options, signal });
    }
    const { terminate_on_close } = config.server_parameters;
    const transport = http.streamableTransport(config.server_parameters, fetch);
    return openConnection(transport, {
      ...options,
      signal,
      ...(terminate_on_close &&
        { terminate: () => transport.inner.terminateSession() }),
    });
  };
  const seconds = patience.requestMs / 1000;
  try {
    return await withDeadline(patience.requestMs, open, {
      signal,
      error: () =>
        new Error(`it did not answer within ${seconds} s (its "timeout")`),
    });
  } catch (error) {
    throw refusal instanceof AuthorizationError ? refusal : error;
  }
}

async function connectLocal(
  server: InProcessServer,
  signal: AbortSignal,
  { pongMs }: ConnectOptions,
): Promise<McpConnection> {
  const { connectInProcess } = await withMcpSdk(() =>
    import("./in_process.ts")
  );
  return await connectInProcess(server, {
    requestMs: LOCAL_REQUEST_MS,
    pongMs,
    signal,
  });
}

async function connectStdio(
  parameters: MCPServerStdioParameters,
  signal: AbortSignal,
  { pongMs, maxMessageBytes }: ConnectOptions,
): Promise<McpConnection> {
  const [{ openConnection }, { StdioTransport }] = await withMcpSdk(() =>
    Promise.all([import("./client_connection.ts"), import("./stdio.ts")])
  );
  const transport = new StdioTransport(parameters, maxMessageBytes);
  try {
    return await openConnection(transport, {
      requestMs: LOCAL_REQUEST_MS,
      pongMs,
      signal,
      explainLoss: () => transport.end,
    });
  } catch (error) {
    const { end, fault } = transport;
    const reason = fault
      ? `"${parameters.command}" ${fault.message}`
      : end && !signal.aborted && end !== "was never started"
      ? `"${parameters.command}" ${end} before it answered`
      : reasonOf(error);
    const diagnostics = transport.diagnostics;
    throw new Error(diagnostics ? `${reason}\n${diagnostics}` : reason, {
      cause: error,
    });
  }
}
