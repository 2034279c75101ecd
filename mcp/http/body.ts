/**
 * The bodies of HTTP requests, which are parsed once, whichever way a request is answered.
 *
 * @module
 */
import {
  isJsonContentType,
  readRequestBody,
} from "@modelcontextprotocol/server";
import { refusal, RpcError } from "./guards.ts";
import type { GatewayBody, GatewayPost } from "../../shared/gateway.ts";
import { parsePieces } from "../../shared/json/pieces.ts";
import { countValues } from "../../shared/json/values.ts";
import { inSlices } from "../../shared/pace.ts";

/** The most values of a body: a call's arguments for people and models have some hundred. */
const MAX_VALUES = 50_000;
/** The most messages of a body. */
export const MAX_BATCH = 100;
/** A body of this size is parsed at once. */
const SHORT_BODY = 65_536;

/** Reads a body once, for both eras; a refusal where that cannot be. */
export async function readBody(
  request: Request,
  maxBytes: number,
  maxValues = MAX_VALUES,
): Promise<GatewayBody> {
  if (request.method !== "POST") return {};
  if (!isJsonContentType(request.headers.get("content-type"))) return noJson();
  const body = await readRequestBody(request, maxBytes)
    .catch(() => undefined); // its client is gone, which is no failure here
  if (body === undefined) return refusal(400, "The request ended early");
  return body.tooLarge
    ? tooLarge(maxBytes)
    : await parseBody(body.text, maxValues);
}

const decoder = new TextDecoder();

/** Reads the body of a POST that has come; a refusal where that cannot be. */
export async function readBytes(
  { headers, bytes }: Pick<GatewayPost, "headers" | "bytes">,
  maxBytes: number,
): Promise<GatewayBody> {
  if (!isJsonContentType(headers["content-type"])) return noJson();
  if (bytes.length > maxBytes) return tooLarge(maxBytes);
  return await parseBody(decoder.decode(bytes), MAX_VALUES);
}

async function parseBody(
  text: string,
  maxValues: number,
): Promise<GatewayBody> {
  // Each value has a character at least.
  const isHeavy = text.length > maxValues &&
    countValues(text, maxValues) > maxValues;
  if (isHeavy) {
    return refusal(
      413,
      `The body has too many values in lists and objects: at most ${maxValues} are allowed; send less at once, or long data as one text`,
    );
  }
  let json: unknown;
  try {
    json = text.length <= SHORT_BODY
      ? JSON.parse(text)
      : await inSlices(parsePieces(text));
  } catch {
    return refusal(400, "The body is no valid JSON", RpcError.PARSE);
  }
  if (Array.isArray(json) && json.length > MAX_BATCH) {
    return refusal(
      413,
      `The body has too many messages: ${json.length}, and at most ${MAX_BATCH} are allowed`,
    );
  }
  return { json };
}

const noJson = (): Response =>
  refusal(415, "Content-Type must be application/json");

const tooLarge = (maxBytes: number): Response =>
  refusal(413, `The body is too large: at most ${maxBytes} bytes`);
