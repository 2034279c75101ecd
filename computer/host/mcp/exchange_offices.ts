import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  isInitializeRequest,
  type JSONRPCMessage,
} from "@modelcontextprotocol/sdk/types.js";
import {
  readOffices,
  writeOffices,
} from "../../../protocol/payloads/request_meta.ts";

/**
 * Names the Computer's offices in `initialize`, and reads those of the MCP server in its answer: the client
 * of the MCP SDK has no `_meta` there.
 *
 * @returns what returns the latter
 */
export function exchangeOffices(
  transport: Transport,
  own: readonly string[],
): () => readonly string[] {
  const send = transport.send.bind(transport);
  let opening: unknown;
  let named: readonly string[] = [];
  transport.send = (message, options) => {
    if (!isInitializeRequest(message)) return send(message, options);
    transport.send = send;
    opening = Object(message).id;
    const params = { ...message.params, ...writeOffices(own) };
    return send({ ...message, params } as JSONRPCMessage, options);
  };
  transport.onmessage = (message) => {
    if (opening === undefined || !("result" in message)) return;
    if (message.id !== opening) return;
    opening = undefined;
    named = readOffices(message.result._meta);
  };
  return () => named;
}
