import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
  SdkHttpError,
  SUBSCRIPTION_ID_META_KEY,
} from "@modelcontextprotocol/client";
import { messageOf } from "../tools/result.ts";

/** Answers the messages of the program that has started the pipe. */
export interface Backend {
  /** Takes a message; answers come by themselves. */
  send(message: JSONRPCMessage): void;
  /** Cancels all calls, and ends. */
  close(): Promise<void>;
}

/** Whether a request is one of MCP 2026-07-28 or later, which say so each for itself. */
export const isModern = ({ params }: JSONRPCRequest): boolean =>
  params?._meta?.[PROTOCOL_VERSION_META_KEY] !== undefined;

/** Whether a message opens a stream of changes (2026), which lasts until its client ends it. */
export const isListen = (message: JSONRPCMessage): message is JSONRPCRequest =>
  isJSONRPCRequest(message) && message.method === "subscriptions/listen";

/** The answer to a request that cannot be passed on. */
export const failureFor = (id: RequestId, message: string): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  error: { code: -32000, message },
});

/** Notifies of those lists of a server that a client wants to be notified of. */
const changesOf = (
  isWanted: (list: string) => boolean,
  params?: Record<string, unknown>,
): JSONRPCMessage[] =>
  ["tools", "prompts", "resources"].filter(isWanted).map((list) => ({
    jsonrpc: "2.0",
    method: `notifications/${list}/list_changed`,
    ...(params && { params }),
  }));

/** Tells a client before 2026 that lists may be other ones, as the server's capabilities allow it. */
export const changesFor = (capabilities: unknown): JSONRPCMessage[] =>
  changesOf((list) => Object(Object(capabilities)[list]).listChanged === true);

/** Tells a client on its stream of changes that lists may be other ones, where it asked for them. */
export const changesOn = ({ id, params }: JSONRPCRequest): JSONRPCMessage[] =>
  changesOf(
    (list) => Object(params?.notifications)[`${list}ListChanged`] === true,
    { _meta: { [SUBSCRIPTION_ID_META_KEY]: id } },
  );

/** What a person does about a status, where the Server's own words do not say it. */
const REMEDIES: Readonly<Record<number, string>> = {
  401:
    "give a key that the Server knows with --api-key (SMCP_API_KEY), or a valid token with --token (SMCP_TOKEN)",
  403: "ask the Server's operator to allow it",
};

/** Codes of the operating system, in words. */
const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "nobody listens there; start a Server, or correct the address with --url",
  ECONNRESET: "the connection ended before the answer",
  ENOTFOUND: "there is no such host; correct the address with --url",
  ETIMEDOUT: "it does not answer",
};

/** The code of an error of the operating system, such as `ECONNREFUSED`. */
export function codeOf(error: unknown): string | undefined {
  const { code, cause }: { code?: unknown; cause?: unknown } = Object(error);
  if (typeof code === "string" && error instanceof Error) return code;
  return cause === undefined ? undefined : codeOf(cause);
}

/** Says in one sentence why a request to the Server failed, and what to do. */
export function explain(url: URL, error: unknown): string {
  if (error instanceof SdkHttpError) {
    const { text } = error.data;
    const body = typeof text === "string" ? text : "";
    return explainStatus(url, error.status, body);
  }
  const why = NETWORK[codeOf(error) ?? ""] ?? messageOf(error);
  return `Cannot reach the Server at ${url.origin}: ${why}`;
}

/** Says why the Server refused a request, by its status and the body of its answer. */
export function explainStatus(url: URL, status: number, body: string): string {
  const said = messageIn(body) ?? `HTTP status ${status} from ${url.origin}`;
  const remedy = REMEDIES[status];
  return remedy === undefined ? said : `${said}; ${remedy}`;
}

/** The message of an error of JSON-RPC, or of one of the Server's own. */
function messageIn(body: string): string | undefined {
  try {
    const { error, message } = Object(JSON.parse(body));
    const text = Object(error).message ?? message;
    return typeof text === "string" && text !== "" ? text : undefined;
  } catch {
    return undefined;
  }
}
