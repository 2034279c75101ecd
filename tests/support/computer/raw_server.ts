import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import type {
  JSONRPCMessage,
  JSONRPCRequest,
} from "@modelcontextprotocol/sdk/types.js";

type Result = Record<string, unknown>;

/** What an MCP server answers to each method, by its params. */
export type RawResults = Readonly<
  Record<string, (params: Record<string, unknown>) => Result | Promise<Result>>
>;

/**
 * An MCP server in the process of the test that answers just what a script says, also what no SDK sends. It
 * has the capabilities of its methods; `initialize` adds fields to that answer. What the script throws is an
 * error with its `code`.
 */
export const rawServer = (results: RawResults) => ({
  type: "in-process" as const,
  default_tool_meta: { auto_apply: true },
  server: {
    async connect(given: object): Promise<void> {
      const transport = given as Transport;
      transport.onmessage = (message: JSONRPCMessage) => {
        if (!("method" in message && "id" in message)) return;
        void answer(transport, message, results);
      };
      await transport.start();
    },
  },
});

/** The capabilities of methods that are not named so. */
const CAPABILITIES: Readonly<Record<string, string>> = {
  "completion/complete": "completions",
};

async function answer(
  transport: Transport,
  { id, method, params = {} }: JSONRPCRequest,
  results: RawResults,
): Promise<void> {
  const jsonrpc = "2.0" as const;
  if (method === "initialize") {
    const names = Object.keys(results).filter((name) => name !== method)
      .map((name) => CAPABILITIES[name] ?? name.split("/")[0] ?? "");
    const result = {
      ...await results[method]?.(params),
      protocolVersion: String(params.protocolVersion),
      capabilities: Object.fromEntries(
        names.map((name) => [
          name,
          `${name}/subscribe` in results ? { subscribe: true } : {},
        ]),
      ),
      serverInfo: { name: "raw", version: "1" },
    };
    return await transport.send({ jsonrpc, id, result });
  }
  const respond = results[method];
  try {
    if (!respond) throw new Error("Method not found");
    const result = await respond(params);
    await transport.send({ jsonrpc, id, result });
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    const { code = -32601 } = Object(thrown);
    await transport.send({ jsonrpc, id, error: { code, message } });
  }
}
