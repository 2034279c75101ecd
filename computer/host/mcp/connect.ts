/**
 * Connects to the MCP server of a configuration: loads the MCP SDK and the transport that is
 * needed, and explains a failure to the user.
 *
 * @module
 */
import { withDeadline } from "../../../shared/async.ts";
import type {
  MCPServerStdioParameters,
  MCPServerStreamableHttpConfig,
  MCPSSEConfig,
} from "../../../protocol/mod.ts";
import { loadPackages } from "../../../shared/packages.ts";
import type { InProcessServer, ServerConfig } from "../../config/config.ts";
import { redactUrl } from "../../util/secrets.ts";
import { reasonOf } from "../../util/values.ts";
import {
  AuthorizationError,
  authorizedFetch,
  type Authorizer,
} from "../oauth/authorized_fetch.ts";
import type { McpConnection } from "./connection.ts";
import {
  DEFAULT_MESSAGE_BYTES,
  NEVER_STARTED,
  ServerEndedError,
} from "./errors.ts";
import { fetchWithTimeouts } from "./limited_fetch.ts";

/** Timeout of requests to MCP servers on this machine, except tool calls. */
const LOCAL_REQUEST_MS = 30_000;

/** Options of {@linkcode connectMcp}. */
interface ConnectOptions {
  /** Timeout of a ping, after which a server counts as hung; default: that of any request. */
  readonly pongMs?: number | undefined;
  /** Maximum bytes of one message of an MCP server; default 64 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Tells MCP servers that they may ask during tool calls. */
  readonly elicits?: boolean | undefined;
  /** Returns the source of tokens for an MCP server over HTTP without credentials. */
  readonly authorizer?:
    | ((server: string, url: string) => Authorizer | undefined)
    | undefined;
}

/**
 * Starts or reaches the MCP server of a configuration without placeholders.
 *
 * Loads the MCP SDK on demand, and only the transport that is needed.
 *
 * @param signal aborts the attempt; nothing is left running
 * @throws {AuthorizationError} when the server denies the Computer access
 * @throws {Error} that explains any other failure to the user
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

const withMcpSdk = <T extends object>(load: () => Promise<T>): Promise<T> =>
  loadPackages("reach MCP servers", ["@modelcontextprotocol/sdk"], load);

async function connectHttp(
  config: MCPServerStreamableHttpConfig | MCPSSEConfig,
  signal: AbortSignal,
  { pongMs, authorizer, elicits, maxMessageBytes = DEFAULT_MESSAGE_BYTES }:
    ConnectOptions,
): Promise<McpConnection> {
  const [{ openConnection }, http] = await withMcpSdk(() =>
    Promise.all([import("./client_connection.ts"), import("./http.ts")])
  );
  const { url, headers } = config.server_parameters;
  const timeouts = config.type === "sse"
    ? http.sseTimeouts(config.server_parameters)
    : http.streamableTimeouts(config.server_parameters);
  const hasCredentials = Object.keys(headers ?? {})
    .some((name) => name.toLowerCase() === "authorization");
  let refusal: unknown;
  const fetch = authorizedFetch(
    fetchWithTimeouts(timeouts, maxMessageBytes),
    hasCredentials ? undefined : authorizer?.(config.name, url),
    (error) => refusal = error,
  );
  const options = {
    requestMs: timeouts.requestMs,
    pongMs,
    elicits,
    pingEveryMs: timeouts.silenceMs / 2,
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
      asksInAnswers: true,
      responded: () => transport.responded(),
      ...(terminate_on_close &&
        { terminate: () => transport.inner.terminateSession() }),
    });
  };
  const seconds = timeouts.requestMs / 1000;
  try {
    return await withDeadline(timeouts.requestMs, open, {
      signal,
      error: () =>
        new Error(`it did not answer within ${seconds} s (its "timeout")`),
    });
  } catch (error) {
    if (refusal instanceof AuthorizationError) throw refusal;
    throw signal.aborted ? error : new Error(
      `cannot connect to ${redactUrl(url)}: ${httpReason(error)}`,
      { cause: error },
    );
  }
}

/** Matches the beginning of Deno's reason: the address, with all that is secret in it. */
const DENO_PREFIX = /^error sending request for url \([^)]*\): /;

/** Finds the reason of a failed connection over HTTP: Node's "fetch failed" has it as its cause. */
function httpReason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && /^fetch failed$/i.test(reasonOf(error))
    ? httpReason(cause)
    : reasonOf(error).replace(
      /^SSE error: (TypeError: fetch failed: )?/,
      "",
    ).replace(DENO_PREFIX, "");
}

async function connectLocal(
  server: InProcessServer,
  signal: AbortSignal,
  { pongMs, elicits }: ConnectOptions,
): Promise<McpConnection> {
  const { connectInProcess } = await withMcpSdk(() =>
    import("./in_process.ts")
  );
  return await connectInProcess(server, {
    requestMs: LOCAL_REQUEST_MS,
    pongMs,
    elicits,
    signal,
  });
}

async function connectStdio(
  parameters: MCPServerStdioParameters,
  signal: AbortSignal,
  { pongMs, elicits, maxMessageBytes }: ConnectOptions,
): Promise<McpConnection> {
  const [{ openConnection }, { StdioTransport }] = await withMcpSdk(() =>
    Promise.all([import("./client_connection.ts"), import("./stdio.ts")])
  );
  const transport = new StdioTransport(parameters, maxMessageBytes);
  try {
    return await openConnection(transport, {
      requestMs: LOCAL_REQUEST_MS,
      pongMs,
      elicits,
      signal,
      explainLoss: () => transport.end,
    });
  } catch (error) {
    const { end, fault } = transport;
    const hasEnded = fault === undefined && end !== undefined &&
      !signal.aborted && end !== NEVER_STARTED;
    const reason = fault
      ? `"${parameters.command}" ${fault.message}`
      : hasEnded
      ? `"${parameters.command}" ${end} before it answered`
      : reasonOf(error);
    const { diagnostics } = transport;
    const Failure = hasEnded ? ServerEndedError : Error;
    throw new Failure(diagnostics ? `${reason}\n${diagnostics}` : reason, {
      cause: error,
    });
  }
}
