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
  HttpAnswerError,
  NEVER_STARTED,
  ServerEndedError,
} from "./errors.ts";
import { checkHeaders, type Hide, quotingFetch } from "./http_answers.ts";
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
        return await connectStdio(config.server_parameters, options);
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

/** Options of {@linkcode connectHttp}. */
interface HttpOptions extends ConnectOptions, ClientConnectionOptions {
  readonly hide: Hide;
}

/** Statuses with which a server of HTTP with SSE answers the first message of Streamable HTTP (MCP). */
const OF_OLDER_SERVERS: ReadonlySet<number> = new Set([400, 404, 405]);

/** A JSON-RPC error with HTTP 400 is an answer of Streamable HTTP. */
const isOfOlderServer = (error: unknown): boolean =>
  error instanceof HttpAnswerError && OF_OLDER_SERVERS.has(error.code) &&
  !(error.code === 400 && error.rpc);

/** Maximum time for an attempt over HTTP with SSE after one over Streamable HTTP. */
const FALLBACK_MS = 10_000;

/** Connects over Streamable HTTP, and where the server is an older one, over HTTP with SSE. */
async function connectHttp(
  config: HttpConfig,
  options: HttpOptions,
): Promise<McpConnection> {
  const { signal } = options;
  checkHeaders(config.server_parameters.headers ?? {});
  const client = await httpClient(config, options);
  try {
    return await client.open(config.type);
  } catch (error) {
    if (config.type === "sse" || signal.aborted || !isOfOlderServer(error)) {
      throw client.explain(error);
    }
    try {
      return await client.open("sse", FALLBACK_MS);
    } catch (second) {
      throw client.explain(error, second);
    }
  }
}

/** Prepares the attempts to connect to an MCP server over HTTP. */
async function httpClient(config: HttpConfig, options: HttpOptions) {
  const [{ openConnection }, { httpTimeouts, HttpTransport }] =
    await withMcpSdk(() =>
      Promise.all([import("./client_connection.ts"), import("./http.ts")])
    );
  const { signal, hide, maxMessageBytes = DEFAULT_MESSAGE_BYTES } = options;
  const { url, headers } = config.server_parameters;
  const timeouts = httpTimeouts(config.server_parameters);
  const names = Object.keys(headers ?? {});
  const hasCredentials = names.some((name) =>
    name.toLowerCase() === "authorization"
  );
  let refusal: unknown;
  let refusedStream: HttpAnswerError | undefined;
  const quoting = quotingFetch(fetchWithTimeouts(timeouts, maxMessageBytes), {
    hide,
    hasHeaders: names.length > 0,
    refused: (error) => refusedStream = error,
  });
  const fetch = authorizedFetch(
    quoting,
    hasCredentials ? undefined : options.authorizer?.(config.name, url),
    (error) => refusal = error,
  );
  const connect = (type: HttpConfig["type"], signal: AbortSignal) => {
    const transport = new HttpTransport(type, config, fetch, hide);
    return openConnection(transport, {
      ...options,
      requestMs: timeouts.requestMs,
      pingEveryMs: timeouts.silenceMs / 2,
      answers: () => transport.answers,
      signal,
      ...(type !== "sse" && {
        asksInAnswers: true,
        responded: () => transport.responded(),
        terminate: transport.terminate,
      }),
    });
  };
  return {
    /**
     * Opens a connection.
     *
     * @throws {Error} that does not name the address yet
     */
    async open(
      type: HttpConfig["type"],
      mostMs = Infinity,
    ): Promise<McpConnection> {
      const ms = Math.min(timeouts.requestMs, mostMs);
      const which = ms < timeouts.requestMs ? "" : ' (its "timeout")';
      const error = () =>
        new Error(`it did not answer within ${ms / 1000} s${which}`);
      try {
        const open = (signal: AbortSignal) => connect(type, signal);
        return await withDeadline(ms, open, { signal, error });
      } catch (error) {
        throw type === "sse" && !signal.aborted
          ? refusedStream ?? error
          : error;
      }
    },
    /** Explains a failure to the user. */
    explain(error: unknown, second?: unknown): unknown {
      if (refusal instanceof AuthorizationError) return refusal;
      if (signal.aborted) return error;
      const reason = second === undefined
        ? httpReason(error)
        : `${
          httpReason(error)
        }; over HTTP with SSE, as older servers have it, ${httpReason(second)}`;
      return new Error(`cannot connect to ${redactUrl(url)}: ${reason}`, {
        cause: error,
      });
    },
  };
}

/** Matches the beginning of Deno's reason: the address, with all that is secret in it. */
const DENO_PREFIX = /^error sending request for url \([^)]*\): /;

/** Finds the reason of a failed connection over HTTP: Node's "fetch failed" has it as its cause. */
function httpReason(error: unknown): string {
  if (error instanceof HttpAnswerError) return `it ${error.what}`;
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
      answers: () => transport.answers,
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
