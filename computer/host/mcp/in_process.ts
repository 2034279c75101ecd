// @ts-types="@modelcontextprotocol/sdk/inMemory"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { InProcessServer } from "../../config/config.ts";
import { isRecord } from "../../../protocol/names.ts";
import { reasonOf } from "../../util/values.ts";
import { openConnection } from "./client_connection.ts";
import type {
  ClientConnectionOptions,
  McpConnection,
} from "./mcp_connection.ts";
import { PARSE_ERROR } from "./errors.ts";

/**
 * Connects to an MCP server in this process.
 *
 * @throws {Error} with the reason why the server cannot be connected
 */
export async function connectInProcess(
  server: InProcessServer,
  options: ClientConnectionOptions,
): Promise<McpConnection> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  passCopies(near);
  passCopies(far);
  let refusal: Error | undefined;
  // Not awaited: a server that never connects must not block the end of the attempt.
  const connecting = async () => await server.connect(far);
  connecting().catch(async (error) => {
    refusal = new Error(`it cannot be connected: ${reasonOf(error)}`, {
      cause: error,
    });
    await near.close();
  });
  try {
    return await openConnection(near, {
      ...options,
      explainLoss: () => "closed its connection",
    });
  } catch (error) {
    throw refusal ?? error;
  }
}

type Send = InMemoryTransport["send"];

/**
 * Makes a transport copy messages as JSON, as a pipe would: neither side sees later changes by the
 * other, and a value that is not JSON is an error.
 */
function passCopies(transport: InMemoryTransport): void {
  const send: Send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    let copy: typeof message;
    try {
      copy = JSON.parse(JSON.stringify(message));
    } catch (error) {
      if (!isRecord(message) || !("result" in message)) throw error;
      // Without an answer the request would wait for its timeout.
      const { jsonrpc, id } = message;
      copy = {
        jsonrpc,
        id,
        error: {
          code: PARSE_ERROR,
          message: `What the MCP server answered is not JSON: ${
            reasonOf(error)
          }`,
        },
      };
    }
    await send(copy, options);
  };
}
