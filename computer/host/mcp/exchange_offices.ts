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
  let named: readonly string[] = [];
  transport.send = (message, options) => {
    if (!isInitializeRequest(message)) return send(message, options);
    transport.send = send;
    const { id } = Object(message);
    const { onmessage } = transport;
    transport.onmessage = (answer, extra) => {
      if ("result" in answer && answer.id === id) {
        transport.onmessage = onmessage;
        named = readOffices(answer.result._meta);
      }
      onmessage?.(answer, extra);
    };
    const params = { ...message.params, ...writeOffices(own) };
    return send({ ...message, params } as JSONRPCMessage, options);
  };
  return () => named;
}
