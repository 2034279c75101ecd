/**
 * Requests to the MCP of a Server, in Deno and Node.
 *
 * @module
 */
import { Agent as TlsAgent, request as requestHttps } from "node:https";
import { Agent, type IncomingMessage, request as requestHttp } from "node:http";
import { Readable } from "node:stream";
import type { UrlOptions } from "../options.ts";
import { onAbort } from "../../shared/async.ts";
import type { ProxyRoute } from "./proxy.ts";
import { type ClientTlsOptions, tlsReason } from "./tls.ts";

/** As those of the global agent: idle connections are closed before a Server does it. */
const KEPT = { keepAlive: true, timeout: 5_000 };

/** Statuses whose responses have no body. */
const BODILESS = [204, 205, 304];

/** A `fetch` that takes what requests of MCP have. */
export type NodeFetch = (
  input: string | URL,
  init?: RequestInit,
) => Promise<Response>;

/** The path of a Server's Socket.IO endpoint, below the one by which a proxy leads to the Server. */
const SMCP_PATH = /^(.*)\/smcp\/?$/;

/** Whether MCP is beside the Socket.IO endpoint of this path: others may be those of another Server. */
export const isBesideMcp = ({ path }: Pick<UrlOptions, "path">): boolean =>
  path === undefined || SMCP_PATH.test(path);

/** The address of an office at a Server that serves MCP. */
export function mcpUrl(
  { url: server, path = "" }: Pick<UrlOptions, "url" | "path">,
  office: string,
): URL {
  const url = new URL("/", server.replace(/^ws/i, "http"));
  const [, prefix = ""] = SMCP_PATH.exec(path) ?? [];
  url.pathname = `${prefix}/mcp/${encodeURIComponent(office)}`;
  return url;
}

/**
 * Makes a `fetch` for MCP on `node:http`: that of Node ends calls after five minutes, and
 * takes certificates by another option than that of Deno.
 *
 * @param route opens the route through a proxy, if there is one
 * @param ended closes all connections, also those that are kept for further requests
 */
export const nodeFetch = (
  tls: ClientTlsOptions = {},
  route?: () => Promise<ProxyRoute>,
  ended?: AbortSignal,
): NodeFetch => {
  const http = onceOnly(new Agent(KEPT));
  const https = onceOnly(new TlsAgent(KEPT));
  if (ended) {
    onAbort(ended, () => {
      http.destroy();
      https.destroy();
    });
  }
  return async (input, init) => {
    const proxy = await route?.();
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const { method = "GET", headers, body, signal } = init ?? {};
    const url = new URL(input);
    const [send, agent] = url.protocol === "https:"
      ? [requestHttps, https]
      : [requestHttp, http];
    const request = send(url, {
      ...tls,
      agent: proxy ? proxy.agent as Agent : agent,
      method,
      headers: Object.fromEntries(new Headers(headers)),
      ...(signal && { signal }),
    });
    request.on("error", async (error: Error & { readonly code?: string }) => {
      if (signal?.aborted) return reject(signal.reason);
      const target = { url: url.href, tls };
      const reason = error.code === "ECONNRESET"
        ? undefined // a connection that ended: no fault of TLS
        : await tlsReason(error.code, target, proxy?.agent);
      if (reason === undefined) return reject(error);
      const text = reason.replaceAll(/\btls\.(cert|key|ca)\b/g, "--tls-$1");
      reject(new Error(text, { cause: error }));
    });
    request.on("response", (response) => {
      // The end of the connection in the middle is an error of the body, whoever reads it.
      response.on("error", () => {});
      resolve(toResponse(response));
    });
    request.end(typeof body === "string" ? body : undefined);
    return await promise;
  };
};

/**
 * Lets an agent reuse connections, but hides that from its requests: Deno would send one a second time
 * when such a connection ends without an answer, though the server may have run it.
 */
function onceOnly<T extends Agent>(agent: T): T {
  const reuse = agent.reuseSocket;
  agent.reuseSocket = (socket, request) => {
    reuse.call(agent, socket, request);
    request.reusedSocket = false;
  };
  return agent;
}

function toResponse(message: IncomingMessage): Response {
  const { statusCode: status = 500, statusMessage: statusText = "" } = message;
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const isBodiless = BODILESS.includes(status);
  if (isBodiless) message.resume();
  const body = isBodiless
    ? null
    : Readable.toWeb(message) as ReadableStream<Uint8Array>;
  return new Response(body, { status, statusText, headers });
}
