/**
 * Connects to the MCP server of a configuration: loads the MCP SDK and the transport that is
 * needed, and explains a failure to the user.
 *
 * @module
 */
import { withDeadline } from "../../../shared/async.ts";
import type { MCPServerStdioParameters } from "../../../protocol/mod.ts";
import { loadPackages } from "../../../shared/packages.ts";
import type { ServerConfig } from "../../config/config.ts";
import { hideValues, redactUrl, secretsIn } from "../../util/secrets.ts";
import { reasonOf } from "../../util/values.ts";
import {
  AuthorizationError,
  authorizedFetch,
  type Authorizer,
} from "../oauth/authorized_fetch.ts";
import type { ClientConnectionOptions, McpConnection } from "./connection.ts";
import type { HttpConfig } from "./http.ts";
import {
  DEFAULT_MESSAGE_BYTES,
  NEVER_STARTED,
  ServerEndedError,
} from "./errors.ts";
import { fetchWithTimeouts } from "./limited_fetch.ts";

/** Timeout of requests to MCP servers on this machine, except tool calls. */
const LOCAL_REQUEST_MS = 30_000;

/** Options of {@linkcode connectMcp}. */
interface ConnectOptions
  extends Pick<ClientConnectionOptions, "pongMs" | "elicits" | "offices"> {
  /** Maximum bytes of one message of an MCP server; default 64 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Returns the source of tokens for an MCP server over HTTP without credentials. */
  readonly authorizer?:
    | ((server: string, url: string) => Authorizer | undefined)
    | undefined;
  /** Returns the values to hide in errors, besides those of the configuration. */
  readonly secrets?: () => Iterable<string>;
}

/**
 * Starts or reaches the MCP server of a configuration without placeholders.
 *
 * Loads the MCP SDK on demand, and only the transport that is needed. No error contains secret
 * values: a server that crashes may have printed its token, and a server that refuses a call may
 * quote it; both end up in messages to users and Agents.
 *
 * @param signal aborts the attempt; nothing is left running
 * @throws {AuthorizationError} when the server denies the Computer access
 * @throws {Error} that explains any other failure to the user
 */
export async function connectMcp(
  config: ServerConfig,
  signal: AbortSignal,
  given: ConnectOptions = {},
): Promise<McpConnection> {
  const redact = (error: unknown) => {
    if (!(error instanceof Error)) return;
    const message = hideValues(error.message, [
      ...given.secrets?.() ?? [],
      ...config.type === "in-process" ? [] : secretsIn(config),
    ]);
    // That of a DOMException, such as of an abort, cannot be set.
    if (message !== error.message) error.message = message;
  };
  const options = { ...given, signal, requestMs: LOCAL_REQUEST_MS, redact };
  try {
    switch (config.type) {
      case "stdio":
        return await connectStdio(config.server_parameters, options);
      case "in-process": {
        const { connectInProcess } = await withMcpSdk(() =>
          import("./in_process.ts")
        );
        return await connectInProcess(config.server, options);
      }
      default:
        return await connectHttp(config, options);
    }
  } catch (error) {
    redact(error);
    throw error;
  }
}

const withMcpSdk = <T extends object>(load: () => Promise<T>): Promise<T> =>
  loadPackages("reach MCP servers", ["@modelcontextprotocol/sdk"], load);

async function connectHttp(
  config: HttpConfig,
  options: ConnectOptions & ClientConnectionOptions,
): Promise<McpConnection> {
  const [{ openConnection }, { httpTimeouts, HttpTransport }] =
    await withMcpSdk(() =>
      Promise.all([import("./client_connection.ts"), import("./http.ts")])
    );
  const { signal, maxMessageBytes = DEFAULT_MESSAGE_BYTES } = options;
  const { url, headers } = config.server_parameters;
  const timeouts = httpTimeouts(config.server_parameters);
  const hasCredentials = Object.keys(headers ?? {})
    .some((name) => name.toLowerCase() === "authorization");
  let refusal: unknown;
  const fetch = authorizedFetch(
    fetchWithTimeouts(timeouts, maxMessageBytes),
    hasCredentials ? undefined : options.authorizer?.(config.name, url),
    (error) => refusal = error,
  );
  const open = (signal: AbortSignal) => {
    const transport = new HttpTransport(config, fetch);
    return openConnection(transport, {
      ...options,
      requestMs: timeouts.requestMs,
      pingEveryMs: timeouts.silenceMs / 2,
      signal,
      ...(config.type !== "sse" && {
        asksInAnswers: true,
        responded: () => transport.responded(),
        terminate: transport.terminate,
      }),
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

async function connectStdio(
  parameters: MCPServerStdioParameters,
  options: ConnectOptions & ClientConnectionOptions,
): Promise<McpConnection> {
  const [{ openConnection }, { StdioTransport }] = await withMcpSdk(() =>
    Promise.all([import("./client_connection.ts"), import("./stdio.ts")])
  );
  const transport = new StdioTransport(parameters, options.maxMessageBytes);
  try {
    return await openConnection(transport, {
      ...options,
      explainLoss: () => transport.end,
    });
  } catch (error) {
    const { end, fault } = transport;
    const hasEnded = fault === undefined && end !== undefined &&
      !options.signal.aborted && end !== NEVER_STARTED;
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
