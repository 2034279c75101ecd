import type { FetchLike } from "@modelcontextprotocol/client";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps, type RequestOptions } from "node:https";
import { Readable } from "node:stream";

/** A client's certificate, and the authorities that it trusts. */
export type TlsFiles = Pick<RequestOptions, "cert" | "key" | "ca">;

/** Statuses whose responses have no body. */
const BODILESS = [204, 205, 304];

/**
 * Makes a `fetch` for MCP on `node:http`: that of Node gives up calls that take longer than five
 * minutes, and neither it nor Deno's takes certificates in the same way.
 */
export const nodeFetch = (tls: TlsFiles = {}): FetchLike => (input, init) => {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const { method = "GET", headers, body, signal } = init ?? {};
  const url = new URL(input);
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const request = send(url, {
    ...tls,
    method,
    headers: Object.fromEntries(new Headers(headers)),
    ...(signal && { signal }),
  });
  request.on("error", (error) => {
    reject(signal?.aborted ? signal.reason : error);
  });
  request.on("response", (response) => {
    // The end of the connection in the middle is an error of the body, whoever reads it.
    response.on("error", () => {});
    resolve(toResponse(response));
  });
  request.end(typeof body === "string" ? body : undefined);
  return promise;
};

function toResponse(message: IncomingMessage): Response {
  const { statusCode: status = 500, statusMessage: statusText = "" } = message;
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  if (BODILESS.includes(status)) {
    message.resume();
    return new Response(null, { status, statusText, headers });
  }
  const body = Readable.toWeb(message) as ReadableStream<Uint8Array>;
  return new Response(body, { status, statusText, headers });
}
