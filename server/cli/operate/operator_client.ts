import { Buffer } from "node:buffer";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { z } from "zod";
import type { CredentialFlags } from "../../../cli/credentials.ts";
import { unreachable } from "../../../cli/explain_failure.ts";
import { orUsageError, UsageError } from "../../../cli/run.ts";
import { checkServerUrl } from "../../../cli/server_flags.ts";
import { problemSchema } from "../../operator/schemas.ts";

/** Where a Server is, and who asks, from the command line. */
export interface OperatorFlags extends CredentialFlags {
  /** Its address. */
  readonly url: string;
}

/** The largest answer that is read, in bytes: the members of the largest office take a few MiB. */
const MAX_ANSWER_BYTES = 256 * 2 ** 20;

/** Talks to the operator API of a Server. */
export class OperatorClient {
  readonly #url: string;
  readonly #token: string;

  /** @throws {UsageError} without credentials, and for an address that is none */
  constructor({ url, token, apiKey }: OperatorFlags) {
    orUsageError(() => checkServerUrl(url));
    const sent = token ?? apiKey;
    if (sent === undefined || !/^[\x21-\x7e]+$/.test(sent)) {
      throw new UsageError(
        "no token: give the one that the Server printed at its start, or an operator's, with --token (SMCP_TOKEN), or a key with --api-key (SMCP_API_KEY)",
      );
    }
    // As the other commands take it.
    this.#url = url.replace(/\/+$/, "").replace(/^ws/, "http");
    this.#token = sent;
  }

  /** Reads something. */
  async get<S extends z.ZodType>(
    path: string,
    schema: S,
  ): Promise<z.output<S>> {
    return await this.#read(await this.#send("GET", path), schema);
  }

  /** Changes something. */
  async post<S extends z.ZodType>(
    path: string,
    body: unknown,
    schema: S,
  ): Promise<z.output<S>> {
    return await this.#read(await this.#send("POST", path, body), schema);
  }

  /** Opens a stream of events. */
  async stream(path: string, lastEventId: string): Promise<IncomingMessage> {
    const response = await this.#send("GET", path, undefined, {
      ...(lastEventId && { "Last-Event-ID": lastEventId }),
    });
    if (response.statusCode !== 200) throw await this.#problem(response);
    return response;
  }

  #send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<IncomingMessage> {
    const url = new URL(`${this.#url}/operator/v1${path}`);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const request = send(url, {
        method,
        headers: {
          ...headers,
          Authorization: `Bearer ${this.#token}`,
          ...(text !== undefined && {
            "Content-Type": "application/json",
            "Content-Length": String(Buffer.byteLength(text)),
          }),
        },
      }, resolve);
      request.on("error", (error) => reject(unreachable(this.#url, error)));
      request.end(text);
    });
  }

  async #read<S extends z.ZodType>(
    response: IncomingMessage,
    schema: S,
  ): Promise<z.output<S>> {
    if (response.statusCode !== 200) throw await this.#problem(response);
    const result = schema.safeParse(jsonOf(await textOf(response)));
    if (result.success) return result.data;
    throw this.#stranger();
  }

  /** Explains a refusal in terms of the command line. */
  async #problem(response: IncomingMessage): Promise<Error> {
    const { statusCode = 0 } = response;
    const result = problemSchema.safeParse(jsonOf(await textOf(response)));
    if (result.success) {
      return new Error(
        statusCode === 401
          ? "the Server does not know this token: give the one that it printed at its start, or an operator's, with --token (SMCP_TOKEN)"
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
