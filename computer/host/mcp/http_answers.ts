/**
 * Answers over HTTP that are no messages of MCP: their words for people and models, and headers that
 * cannot be sent.
 *
 * @module
 */
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { HttpAnswerError } from "./errors.ts";
import { MAX_ERROR_BYTES, mediaTypeOf, requestIdOf } from "./limited_fetch.ts";
import { AuthorizationError } from "../oauth/authorized_fetch.ts";
import { ErrorCode } from "../../../protocol/mod.ts";
import { isRecord } from "../../../protocol/names.ts";
import { withTimeout } from "../../../shared/async.ts";
import { reasonOf } from "../../util/values.ts";

/** Hides secrets in a text. */
export type Hide = (text: string) => string;

/** Maximum time to read the body of a refusal. */
const BODY_TIMEOUT_MS = 5_000;
/** Maximum characters of a body in which words are searched for, and of the words. */
const MAX_SEARCHED = 4_096;
const MAX_WORDS = 500;

/** Reads the error of a response with a status of failure. */
export async function statusError(
  response: Response,
  hide: Hide,
): Promise<HttpAnswerError> {
  const { status, statusText } = response;
  const body = await readBeginning(response);
  const words = readableText(body, hide) ||
    hide(statusText).slice(0, MAX_WORDS);
  const wait = retryAfter(response);
  const notes = wait === "" ? "" : ` (Retry-After: ${wait})`;
  const what = `answered HTTP ${status}${notes}`;
  return new HttpAnswerError(
    words === "" ? what : `${what}: ${words}`,
    status,
    readRpcError(body),
  );
}

/** Returns the error of a response to a request whose status has no message. */
export async function noMessageError(
  { body, status }: Response,
): Promise<HttpAnswerError> {
  await body?.cancel();
  return new HttpAnswerError(
    `answered HTTP ${status} without a message, where MCP has the answer to the request`,
    status,
  );
}

/** Reads the error of a response to a request that has neither JSON nor a stream of events. */
export async function contentError(
  response: Response,
  hide: Hide,
): Promise<HttpAnswerError> {
  const words = readableText(await readBeginning(response), hide);
  const type = hide(mediaTypeOf(response)).slice(0, MAX_WORDS);
  const content = type === "" ? "no Content-Type" : `Content-Type ${type}`;
  const what =
    `answered with ${content}, where MCP has application/json or text/event-stream`;
  return new HttpAnswerError(
    words === "" ? what : `${what}: ${words}`,
    response.status,
  );
}

/** Reads the beginning of a body; nothing of one that does not come in time. */
async function readBeginning({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  if (!reader) return "";
  const read = async () => {
    const decoder = new TextDecoder();
    let text = "";
    for (let size = 0; size < MAX_ERROR_BYTES;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      text += decoder.decode(value, { stream: true });
    }
    return text;
  };
  try {
    return await withTimeout(BODY_TIMEOUT_MS, read);
  } catch {
    return "";
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The header `Retry-After`: seconds or a date (RFC 9110); anything else counts as absent. */
function retryAfter({ headers }: Response): string {
  const value = headers.get("retry-after")?.trim() ?? "";
  if (/^\d{1,9}$/.test(value)) return `${value} s`;
  return /^[A-Z][\w ,:]{10,40}$/i.test(value) ? value : "";
}

/** Returns the words for people in a body: of JSON the message, of HTML the text. */
function readableText(body: string, hide: Hide): string {
  const text = messageIn(parsed(body)) ?? body;
  // Hidden first: a secret that is cut would not be found.
  const searched = reasonOf(hide(text)).slice(0, MAX_SEARCHED);
  const plain = searched.trimStart().startsWith("<")
    ? searched.replaceAll(/<[^<>]*>/g, " ")
    : searched;
  const words = plain.replaceAll(/\s+/g, " ").trim();
  return words.length > MAX_WORDS ? `${words.slice(0, MAX_WORDS)}…` : words;
}

/** The fields in which servers and gateways say what is wrong. */
const MESSAGE_FIELDS = [
  "message",
  "error_description",
  "detail",
  "title",
  "error",
];

function messageIn(json: unknown): string | undefined {
  if (typeof json === "string") return json;
  if (!isRecord(json)) return undefined;
  if (isRecord(json.error)) return messageIn(json.error);
  return MESSAGE_FIELDS.map((field) => json[field])
    .find((value) => typeof value === "string" && value !== "") as
      | string
      | undefined;
}

function readRpcError(body: string): HttpAnswerError["rpc"] {
  const json = parsed(body);
  const error = isRecord(json) && json.jsonrpc === "2.0" ? json.error : null;
  return isRecord(error) && typeof error.code === "number"
    ? { code: error.code, data: error.data }
    : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Recognizes the errors with which the MCP SDK refuses an answer: no JSON, or no message of JSON-RPC. */
export const isOddMessage = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  error instanceof Error && /^\$?ZodError$/.test(error.name);

/** Explains the MCP SDK's errors about an answer; returns others as they are. */
export function explainAnswer(error: unknown, hide: Hide): unknown {
  if (isOddMessage(error)) {
    const what = "answered with something that is not JSON-RPC";
    return new HttpAnswerError(what, 200);
  }
  if (!(error instanceof Error) || !("code" in error)) return error;
  const { code, message } = error;
  const isRedirect = typeof code === "number" && code >= 300 && code < 400;
  if (!isRedirect) return error;
  const words = readableText(message.replace(/^[^]*to endpoint: /, ""), hide);
  return new HttpAnswerError(
    `answered HTTP ${code}: ${words}; correct its "url"`,
    code,
  );
}

/** Options of {@linkcode quotingFetch}. */
interface QuotingOptions {
  readonly hide: Hide;
  /** Whether the configuration has headers, which may be credentials. */
  readonly hasHeaders: boolean;
  /** Called when a stream of events was refused, whose reader does not report the words. */
  readonly refused: (error: HttpAnswerError) => void;
}

/**
 * Quotes an MCP server that forbids a request with HTTP 403 without naming how to authenticate.
 *
 * @throws {AuthorizationError} with the server's words
 */
export const quotingFetch = (
  fetch: FetchLike,
  { hide, hasHeaders, refused }: QuotingOptions,
): FetchLike =>
async (url, init = {}) => {
  const response = await fetch(url, init);
  const headers = new Headers(init.headers);
  const accepted = headers.get("accept") ?? "";
  // What an authorization server answers is for the one who asked it.
  const isOfMcp = requestIdOf(init) !== undefined ||
    accepted.includes("text/event-stream");
  const isForbidden = response.status === 403 &&
    !response.headers.has("www-authenticate");
  const isRefused = isForbidden ||
    init.method !== "POST" && response.status >= 400;
  if (!isOfMcp || !isRefused) return response;
  const error = await statusError(response, hide);
  if (isForbidden) {
    throw forbidden(error.what, hasHeaders || headers.has("authorization"));
  }
  refused(error);
  return new Response(null, response);
};

function forbidden(what: string, hasCredentials: boolean): AuthorizationError {
  // A hint for Agents has no address.
  const problem = `It ${what.replaceAll(/https?:\/\/\S+/gi, "…")}`;
  const code = ErrorCode.TOOL_AUTHORIZATION_FAILED;
  return hasCredentials
    ? new AuthorizationError({
      code,
      what: problem,
      action: "grant",
      todo:
        "if that is about the credentials that the Computer sends, grant them the rights, or set others",
    })
    : new AuthorizationError({
      code,
      what: problem,
      action: "configure",
      todo:
        'the Computer sends no credentials; if it needs some, set them in its "headers" in the Computer\'s configuration',
    });
}

/** A name of a header (RFC 9110). */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** A character that the value of a header cannot have: beyond Latin-1, or a control character. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/u;

/**
 * Checks that headers can be sent; does not quote values, which may be secret.
 *
 * @throws {Error} that names the header and the remedy
 */
export function checkHeaders(
  headers: Readonly<Record<string, string | number | boolean>>,
): void {
  for (const [name, value] of Object.entries(headers)) {
    const quoted = JSON.stringify(name);
    if (!HEADER_NAME.test(name)) {
      throw new Error(
        `Cannot send the header ${quoted} of its "headers": invalid name of a header; use letters, digits and "-"`,
      );
    }
    const text = `${value}`.replace(/^[\t\r\n ]+|[\t\r\n ]+$/g, "");
    const at = text.search(UNSENDABLE);
    if (at === -1) continue;
    const code = text.codePointAt(at)!.toString(16).toUpperCase();
    throw new Error(
      `Cannot send the header ${quoted} of its "headers": character ${
        at + 1
      } of its value is U+${
        code.padStart(4, "0")
      }, and HTTP carries only those of Latin-1; write the value without it, or encoded as the MCP server expects it (such as percent-encoded or base64)`,
    );
  }
}
