import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
  SdkHttpError,
  SUBSCRIPTION_ID_META_KEY,
} from "@modelcontextprotocol/client";
import {
  CREDENTIAL_REMEDIES,
  NETWORK_REMEDIES,
} from "../../shared/net/remedies.ts";
import { messageOf } from "../tools/result.ts";

/** Answers the messages of the program that has started the pipe. */
export interface Backend {
  /** Takes a message; answers come by themselves. */
  send(message: JSONRPCMessage): void;
  /** Cancels all calls, and ends. */
  close(): Promise<void>;
}

/** Whether a request is one of MCP 2026-07-28 or later, which have their version in themselves. */
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

/** Makes the notifications of lists that a client has asked for. */
const listChanges = (
  isAsked: (list: string) => boolean,
  params?: Record<string, unknown>,
): JSONRPCMessage[] =>
  ["tools", "prompts", "resources"].filter(isAsked).map((list) => ({
    jsonrpc: "2.0",
    method: `notifications/${list}/list_changed`,
    ...(params && { params }),
  }));

/** Makes the notifications for a client before 2026 that lists may have changed, as the server's capabilities allow it. */
export const changesFor = (capabilities: unknown): JSONRPCMessage[] =>
  listChanges((list) =>
    Object(Object(capabilities)[list]).listChanged === true
  );

/** Makes the notifications on a stream of changes that lists may have changed, where its client asked for them. */
export const changesOn = ({ id, params }: JSONRPCRequest): JSONRPCMessage[] =>
  listChanges(
    (list) => Object(params?.notifications)[`${list}ListChanged`] === true,
    { _meta: { [SUBSCRIPTION_ID_META_KEY]: id } },
  );

/** The code of an error of the operating system, such as `ECONNREFUSED`. */
export function codeOf(error: unknown): string | undefined {
  const { code, cause }: { code?: unknown; cause?: unknown } = Object(error);
  if (typeof code === "string" && error instanceof Error) return code;
  return cause === undefined ? undefined : codeOf(cause);
}

/** Describes in one sentence why a request to the Server failed, and what to do. */
export function explain(url: URL, error: unknown): string {
  if (error instanceof SdkHttpError) {
    const { text } = error.data;
    const body = typeof text === "string" ? text : "";
    return explainStatus(url, error.status, body);
  }
  const why = NETWORK_REMEDIES[codeOf(error) ?? ""] ?? messageOf(error);
  return `Cannot reach the Server at ${url.origin}: ${why}`;
}

/** Describes why the Server refused a request, by its status and the body of its answer. */
export function explainStatus(url: URL, status: number, body: string): string {
  const reason = messageIn(body) ?? `HTTP status ${status} from ${url.origin}`;
  const remedy = CREDENTIAL_REMEDIES[status];
  return remedy === undefined ? reason : `${reason}; ${remedy}`;
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
