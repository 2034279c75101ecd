/**
 * Notifications of tasks on streams of `subscriptions/listen`.
 *
 * The MCP SDK serves these streams, and does not know `taskIds`: they pass it as resources of URIs that
 * nothing else has, and become tasks again where its messages leave.
 *
 * @module
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  isJSONRPCRequest,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type ServerEvent,
  SUBSCRIPTION_ID_META_KEY,
} from "@modelcontextprotocol/server";
import {
  declaresTasks,
  type DescribedTask,
  toTaskError,
  undeclared,
} from "./extension.ts";
import type { TaskTable } from "./task_table.ts";

/** Made when it is needed first: Cloudflare has no random values while modules load. */
let prefix: string | undefined;

/** Begins URIs that no client can write by itself, and so listen to tasks of others. */
const prefixOf = (): string => prefix ??= `a2c-task:${crypto.randomUUID()}:`;

/** Makes the event that the MCP SDK passes on for a task. */
export const taskEvent = (task: DescribedTask): ServerEvent => ({
  kind: "resource_updated",
  uri: `${prefixOf()}${task.taskId}`,
  params: { ...task },
});

/**
 * Returns a request for a stream as the MCP SDK takes it; `undefined` for any other message, and for a
 * stream without tasks.
 *
 * @param owner whose tasks it may be for; others are left out
 * @throws {ProtocolError} the client does not declare the extension
 */
export function listenForTasks(
  message: unknown,
  tasks: TaskTable,
  owner: string,
): JSONRPCMessage | undefined {
  const isListening = Object(message).method === "subscriptions/listen" &&
    isJSONRPCRequest(message);
  if (!isListening) return undefined;
  const { params } = message;
  const { taskIds, ...notifications } = Object(params?.notifications);
  if (!Array.isArray(taskIds)) return undefined;
  const capabilities = Object(params?._meta)[CLIENT_CAPABILITIES_META_KEY];
  if (!declaresTasks(capabilities)) throw undeclared();
  const own = [...new Set(taskIds)].filter((id) =>
    typeof id === "string" && tasks.find(id, owner)
  );
  const { resourceSubscriptions: others } = notifications;
  notifications.resourceSubscriptions = [
    ...(Array.isArray(others) ? others : []),
    ...own.map((id) => `${prefixOf()}${id}`),
  ];
  return { ...message, params: { ...params, notifications } };
}

/**
 * Returns a message of the MCP SDK as the client reads it; after the acknowledgement, how far the tasks of
 * the stream are: what has ended before it would not be notified.
 */
export function withTasks(
  message: JSONRPCMessage,
  tasks: TaskTable,
): JSONRPCMessage[] {
  if (!("method" in message) || "id" in message) return [message];
  switch (message.method) {
    case "notifications/resources/updated":
      return [asTask(message)];
    case "notifications/subscriptions/acknowledged":
      return acknowledged(message, tasks);
    default:
      return [message];
  }
}

const NOTIFICATION = "notifications/tasks";

function asTask(message: JSONRPCNotification): JSONRPCNotification {
  const { uri, ...task } = { ...message.params };
  return isOwn(uri)
    ? { ...message, method: NOTIFICATION, params: task }
    : message;
}

function acknowledged(
  message: JSONRPCNotification,
  tasks: TaskTable,
): JSONRPCNotification[] {
  const { params } = message;
  const { resourceSubscriptions, ...notifications } = Object(
    params?.notifications,
  );
  const uris: unknown[] = resourceSubscriptions ?? [];
  const taskIds = uris.filter(isOwn).map((uri) => uri.slice(prefixOf().length));
  if (taskIds.length === 0) return [message];
  const others = uris.filter((uri) => !isOwn(uri));
  if (others.length > 0) notifications.resourceSubscriptions = others;
  notifications.taskIds = taskIds;
  const { [SUBSCRIPTION_ID_META_KEY]: stream } = { ...params?._meta };
  const _meta = { [SUBSCRIPTION_ID_META_KEY]: stream };
  const states = taskIds.flatMap((id) => tasks.describe(id) ?? [])
    .map((task): JSONRPCNotification => ({
      jsonrpc: "2.0",
      method: NOTIFICATION,
      params: { ...task, _meta },
    }));
  return [{ ...message, params: { ...params, notifications } }, ...states];
}

const isOwn = (uri: unknown): uri is string =>
  typeof uri === "string" && uri.startsWith(prefixOf());

/** Makes the answer of JSON-RPC to a request that has failed. */
export const errorAnswer = (
  request: unknown,
  error: unknown,
): JSONRPCErrorResponse => ({
  jsonrpc: "2.0",
  id: Object(request).id,
  error: toTaskError(error),
});

/** Returns a stream of events of the MCP SDK as the client reads it. */
export function streamWithTasks(
  stream: ReadableStream<Uint8Array>,
  tasks: TaskTable,
): ReadableStream<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const events = (rest + decoder.decode(chunk, { stream: true }))
          .split("\n\n");
        rest = events.pop() ?? "";
        for (const event of events) {
          controller.enqueue(encoder.encode(eventWithTasks(event, tasks)));
        }
      },
    }),
  );
}

const DATA = "event: message\ndata: ";

/** @param event without the empty line at its end */
function eventWithTasks(event: string, tasks: TaskTable): string {
  if (!event.startsWith(DATA)) return `${event}\n\n`;
  return withTasks(JSON.parse(event.slice(DATA.length)), tasks)
    .map((message) => `${DATA}${JSON.stringify(message)}\n\n`).join("");
}
