import { Buffer } from "node:buffer";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { type HttpRoute, httpRoute } from "../../../cli/server_flags.ts";
import { type Bytes, toBase64url } from "../../../shared/approvals/bytes.ts";
import { NotPassedError, type Send } from "../../../shared/approvals/device.ts";
import { LIMITS } from "../../../shared/approvals/question.ts";
import { withTimeout } from "../../../shared/async.ts";
import { joined } from "../../../shared/bytes.ts";
import { isLoopbackName } from "../../../shared/loopback.ts";

/** How to reach Servers: the flags of other commands, without the address. */
export interface RouteFlags {
  /** An HTTP proxy, or `none`. */
  proxy?: string;
  /** File with the client's certificate. */
  tlsCert?: string;
  /** File with its private key. */
  tlsKey?: string;
  /** File with the certificate authorities to trust. */
  tlsCa?: string;
}

/** Where a Computer is. */
interface Place {
  readonly url: string;
  readonly office: string;
  readonly route: string;
}

/** Longer than a poll waits. */
const SEND_TIMEOUT_MS = 30_000;

/**
 * Checks the address of a Server: another machine is asked by TLS alone.
 *
 * @throws {Error} with what to do
 */
export function checkAddress(url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:") return;
  if (protocol === "http:" && isLoopbackName(hostname)) return;
  throw new Error(
    `the link leads to ${url}, where anybody in between could ask and answer: the Server needs https (docs/operators.md), and the Computer its https address`,
  );
}

/** Makes what sends messages to a Computer, by the Server. */
export function httpSend(
  { url, office, route }: Place,
  flags: RouteFlags,
): Send {
  checkAddress(url);
  const server = httpRoute({ ...flags, url });
  const path = [office, route].map(encodeURIComponent).join("/");
  const address = new URL(`${url.replace(/\/+$/, "")}/approve/v1/${path}`);
  return (token, message) =>
    withTimeout(
      SEND_TIMEOUT_MS,
      (signal) => post(address, server, { token, message, signal }),
      { error: () => new Error("the Server did not answer within 30 s") },
    );
}

async function post(
  address: URL,
  server: HttpRoute,
  { token, message, signal }: {
    readonly token: Bytes;
    readonly message: Bytes;
    readonly signal: AbortSignal;
  },
): Promise<Bytes> {
  const request = address.protocol === "https:" ? httpsRequest : httpRequest;
  const answered = Promise.withResolvers<IncomingMessage>();
  const options = {
    ...await server.options(),
    method: "POST",
    signal,
    headers: {
      Authorization: `Bearer ${toBase64url(token)}`,
      "Content-Type": "application/octet-stream",
      "Content-Length": String(message.length),
    },
  };
  const fail = (error: Error) =>
    server.failure(error).then(answered.reject, answered.reject);
  request(address, options, answered.resolve).on("error", fail)
    .end(Buffer.from(message));
  const response = await answered.promise;
  const { statusCode = 0, headers } = response; // redirects are not followed
  if (statusCode === 200) return await readBody(response);
  response.destroy();
  const why = WHY[`${statusCode}`] ?? `the Server answered ${statusCode}`;
  throw new NotPassedError(statusCode, headers["retry-after"], why);
}

const WHY: Readonly<Record<string, string>> = {
  404:
    "the Computer is not there, no longer knows this program, or its Server has no --approvals",
  429: "the Server has too many requests of this program",
};

async function readBody(response: IncomingMessage): Promise<Bytes> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= LIMITS.answerBytes) continue;
    response.destroy();
    throw new Error("the answer is too large");
  }
  return joined(chunks);
}
