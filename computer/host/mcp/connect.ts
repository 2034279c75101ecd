/**
 * Connects to the MCP server of a configuration: loads the MCP SDK and the transport that is
 * needed, and explains a failure to the user.
 *
 * @module
 */
import { loadPackages } from "../../../shared/packages.ts";
import type { ServerConfig } from "../../config/config.ts";
import { log, WarnOnce } from "../../util/log.ts";
import { hideValues, secretsIn } from "../../util/secrets.ts";
import { reasonOf } from "../../util/values.ts";
import type {
  ClientConnectionOptions,
  McpConnection,
} from "./mcp_connection.ts";
import type { HttpConfig } from "./http.ts";
import type { HttpOptions } from "./http_attempts.ts";
import { HandshakeError, NEVER_STARTED, ServerEndedError } from "./errors.ts";
import { checkHeaders } from "./http_answers.ts";

/** Timeout of requests to MCP servers on this machine, except tool calls. */
const LOCAL_REQUEST_MS = 30_000;

/** Options of {@linkcode connectMcp}. */
interface ConnectOptions
  extends
    Pick<ClientConnectionOptions, "pongMs" | "elicits" | "offices">,
    Pick<HttpOptions, "maxMessageBytes" | "authorizer"> {
  /** Time for a child process to exit after its input is closed, and again after SIGTERM; default 2 s. */
  readonly exitGraceMs?: number | undefined;
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
  const hide = (text: string) =>
    hideValues(text, [
      ...given.secrets?.() ?? [],
      ...config.type === "in-process" ? [] : secretsIn(config),
    ]);
  const redact = (error: unknown) => {
    if (!(error instanceof Error)) return;
    const message = hide(error.message);
    // That of a DOMException, such as of an abort, cannot be set.
    if (message !== error.message) error.message = message;
  };
  const options = { ...given, signal, requestMs: LOCAL_REQUEST_MS, redact };
  try {
    switch (config.type) {
      case "stdio":
        return await connectStdio(config, options, hide);
      case "in-process": {
        const { connectInProcess } = await withMcpSdk(() =>
          import("./in_process.ts")
        );
        return await connectInProcess(config.server, options);
      }
      default:
        return await connectHttp(config, { ...options, hide });
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
  options: HttpOptions,
): Promise<McpConnection> {
  checkHeaders(config.server_parameters.headers ?? {});
  const { HttpAttempts } = await withMcpSdk(() => import("./http_attempts.ts"));
  return await new HttpAttempts(config, options).connect();
}

/** @param hide hides secrets in a text, before it is cut */
async function connectStdio(
  { name, server_parameters }: Extract<ServerConfig, { type: "stdio" }>,
  options: ConnectOptions & ClientConnectionOptions,
  hide: (text: string) => string,
): Promise<McpConnection> {
  const [{ openConnection }, { StdioTransport }] = await withMcpSdk(() =>
    Promise.all([import("./client_connection.ts"), import("./stdio.ts")])
  );
  const once = new WarnOnce();
  const transport = new StdioTransport(server_parameters, {
    limit: options.maxMessageBytes,
    exitGraceMs: options.exitGraceMs,
    warn: (warning) =>
      log.warn("MCP server {server}: {warning}", { server: name, warning }),
    silent: (printed) =>
      once.warn([`MCP server "${name}" did not answer a call${printed}`]),
    hide,
  });
  try {
    return await openConnection(transport, {
      ...options,
      explainLoss: () => transport.end,
      answers: () => transport.answers,
      watchOutput: transport.watchOutput,
    });
  } catch (error) {
    const { end, fault, diagnostics, stray } = transport;
    const hasEnded = fault === undefined && end !== undefined &&
      !options.signal.aborted && end !== NEVER_STARTED &&
      !(error instanceof HandshakeError);
    const reason = fault
      ? `"${server_parameters.command}" ${fault.message}`
      : hasEnded
      ? `"${server_parameters.command}" ${end} before it answered`
      : reasonOf(error);
    const Failure = hasEnded ? ServerEndedError : Error;
    throw new Failure(
      [reason + stray.quote(), diagnostics].filter(Boolean).join("\n"),
      { cause: error },
    );
  }
}
