import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
  SUBSCRIPTION_ID_META_KEY,
} from "@modelcontextprotocol/client";
import { isObject } from "../tools/json.ts";

/** Whether a request is one of MCP 2026-07-28 or later, which say so each for itself. */
export const isModern = ({ params }: JSONRPCRequest): boolean =>
  params?._meta?.[PROTOCOL_VERSION_META_KEY] !== undefined;

/** Whether a message opens a stream of changes (2026), which lasts until its client ends it. */
export const isListen = (message: JSONRPCMessage): message is JSONRPCRequest =>
  isJSONRPCRequest(message) && message.method === "subscriptions/listen";

/** The resource that a client before 2026 subscribes to with a message, or does no more. */
export function subscriptionOf(
  message: JSONRPCMessage,
): { readonly uri: string; readonly isWanted: boolean } | undefined {
  if (!isJSONRPCRequest(message)) return undefined;
  const { method, params } = message;
  const isWanted = method === "resources/subscribe";
  if (!isWanted && method !== "resources/unsubscribe") return undefined;
  return typeof params?.uri === "string"
    ? { uri: params.uri, isWanted }
    : undefined;
}

/** The request that a client gives up with a message, if it does. */
export function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  if (!("method" in message) || "id" in message) return undefined;
  if (message.method !== "notifications/cancelled") return undefined;
  const id = message.params?.requestId;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** The answer to a request that cannot be passed on. */
export const failureFor = (id: RequestId, message: string): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  error: { code: -32000, message },
});

/** What lists of a server can change, by the capability that says so. */
const LISTS = ["tools", "prompts", "resources"] as const;

const changed = (
  list: typeof LISTS[number],
  params?: Record<string, unknown>,
): JSONRPCMessage => ({
  jsonrpc: "2.0",
  method: `notifications/${list}/list_changed`,
  ...(params && { params }),
});

/** Tells a client before 2026 that lists may be other ones, as the server's capabilities allow it. */
export function changesFor(capabilities: unknown): JSONRPCMessage[] {
  const known: Record<string, unknown> = Object(capabilities);
  return LISTS.filter((list) => Object(known[list]).listChanged === true)
    .map((list) => changed(list));
}

/** Tells a client on its stream of changes that lists may be other ones, where it asked for them. */
export function changesOn({ id, params }: JSONRPCRequest): JSONRPCMessage[] {
  const wanted = isObject(params?.notifications) ? params.notifications : {};
  return LISTS.filter((list) => wanted[`${list}ListChanged`] === true)
    .map((list) =>
      changed(list, { _meta: { [SUBSCRIPTION_ID_META_KEY]: id } })
    );
}
