import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import {
  type CredentialFlags,
  type HttpWay,
  httpWay,
  type WayFlags,
} from "../../../cli/server_flags.ts";
import { UsageError } from "../../../cli/run.ts";
import type * as z from "../../../protocol/schema.ts";
import { problemSchema } from "../../operator/schemas.ts";

/** The way to a Server, and who asks, from the command line. */
export type OperatorFlags = WayFlags & CredentialFlags;

/** The largest answer that is read, in bytes: the members of the largest office take a few MiB. */
const MAX_ANSWER_BYTES = 256 * 2 ** 20;

/** Talks to the operator API of a Server. */
export class OperatorClient {
  readonly #url: string;
  readonly #token: string;
  readonly #way: HttpWay;

  /** @throws {UsageError} without credentials, and for an address, a proxy or a file that is none */
  constructor({ token, apiKey, ...way }: OperatorFlags) {
    this.#way = httpWay(way, (file) => readFileSync(file, "utf8"));
    const sent = token ?? apiKey;
    if (sent === undefined || !/^[\x21-\x7e]+$/.test(sent)) {
      throw new UsageError(
        "no token: give the one that the Server printed at its start, or an operator's, with --token (SMCP_TOKEN), or a key with --api-key (SMCP_API_KEY)",
      );
    }
    // As the other commands take it.
    this.#url = way.url.replace(/\/+$/, "").replace(/^ws/, "http");
    this.#token = sent;
  }

  /**
   * Reads something, or changes it.
   *
   * @param body of a change
   */
  async ask<S extends z.ZodMiniType>(
    path: string,
    schema: S,
    body?: unknown,
  ): Promise<z.output<S>> {
    const response = await this.#send(path, body);
    const result = schema.safeParse(jsonOf(await textOf(response)));
    if (result.success) return result.data;
    throw this.#stranger();
  }

  /** Opens a stream of events. */
  async stream(path: string, lastEventId: string): Promise<IncomingMessage> {
    return await this.#send(path, undefined, {
      ...(lastEventId && { "Last-Event-ID": lastEventId }),
    });
  }

  async #send(
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<IncomingMessage> {
    const url = new URL(`${this.#url}/operator/v1${path}`);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const { promise, resolve, reject } = Promise.withResolvers<
      IncomingMessage
    >();
    const request = send(url, {
      ...await this.#way.options(),
      method: text === undefined ? "GET" : "POST",
      headers: {
        ...headers,
        Authorization: `Bearer ${this.#token}`,
        ...(text !== undefined && {
          "Content-Type": "application/json",
          "Content-Length": String(Buffer.byteLength(text)),
        }),
      },
    }, resolve);
    request.on("error", (error) => {
      this.#way.failure(error).then(reject, reject);
    });
    request.end(text);
    const response = await promise;
    if (response.statusCode !== 200) throw await this.#problem(response);
    return response;
  }

  /** Explains a refusal in terms of the command line. */
  async #problem(response: IncomingMessage): Promise<Error> {
    const { statusCode = 0 } = response;
    const result = problemSchema.safeParse(jsonOf(await textOf(response)));
    if (result.success) {
      return new Error(
        statusCode === 401
          ? `${
            EXPIRED.exec(result.data.detail)?.[0] ??
              "the Server does not know this token"
          }: give the one that it printed at its start, or an operator's, with --token (SMCP_TOKEN)`
          : result.data.detail,
      );
    }
    return statusCode === 404
      ? new Error(
        `the Server at ${this.#url} has no operator API: give a key the role operator, or correct --url`,
      )
      : this.#stranger();
  }

  #stranger(): Error {
    return new Error(
      `what answers at ${this.#url} is no operator API of this version; correct --url`,
    );
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error("the answer is too large");
  }
  return Buffer.concat(chunks).toString();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Matches the reason that a Server gives only to the holder of credentials that were valid. */
const EXPIRED = /the (API key|token) expired at [^;]+/;
