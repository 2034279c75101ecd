import type { CallToolOptions } from "../../../agent/mod.ts";
import type {
  SmcpComputer,
  SmcpComputerOptions,
} from "../../../computer/mod.ts";
import { Connection } from "../../../client/connection.ts";
import {
  type CallToolResult,
  parseCallToolResult,
  resultMeta,
  TOOL_CALL_EVENT,
  type ToolCallReq,
} from "../../../protocol/mod.ts";
import { OFFICE, type Office, startOffice } from "../office.ts";

/** An office with one real Computer, whose MCP servers have all settled. */
export interface ComputerOffice extends AsyncDisposable {
  readonly office: Office;
  readonly computer: SmcpComputer;
  /** Calls a tool of the Computer as its Agent. */
  call(
    tool: string,
    params?: Record<string, unknown>,
    options?: CallToolOptions,
  ): Promise<CallEnd>;
}

/** How a call ended. */
export interface CallEnd {
  /** The texts of the result, a line each. */
  readonly text: string;
  /** Its metadata. */
  readonly meta: Record<string, unknown>;
  readonly result: CallToolResult;
}

/** Returns text and metadata of a result. */
export const endOf = (result: CallToolResult): CallEnd => ({
  text: result.content.map(({ text }) => text ?? "").join("\n"),
  meta: resultMeta(result),
  result,
});

/** Starts a Server, an Agent and a Computer "pc", all joined. */
export async function startComputer(
  servers: SmcpComputerOptions["servers"],
  options: Partial<SmcpComputerOptions> = {},
  setup: Parameters<typeof startOffice>[0] = {},
): Promise<ComputerOffice> {
  const office = await startOffice(setup);
  try {
    const computer = await office.addComputer("pc", { servers, ...options });
    return {
      office,
      computer,
      call: async (tool, params = {}, options) =>
        endOf(await office.agent.callTool("pc", tool, params, options)),
      [Symbol.asyncDispose]: () => office[Symbol.asyncDispose](),
    };
  } catch (error) {
    await office[Symbol.asyncDispose]();
    throw error;
  }
}

/** An Agent that sends raw payloads, and returns the Computer's own answers. */
export interface WireAgent {
  /** Its end of the wire. */
  readonly connection: Connection;
  /** Sends a request; returns the raw ack, and throws protocol errors. */
  ask(event: string, payload: Record<string, unknown>): Promise<unknown>;
  /** Calls a tool, with `req_id` "1" by default. */
  call(over: Partial<ToolCallReq>): Promise<CallToolResult>;
}

/** Joins an office as its Agent. */
export async function takeSeat(office: Office): Promise<WireAgent> {
  await office.agent.leave();
  const connection = office.use(
    new Connection(
      { url: office.url, name: "wire", role: "agent" },
      (error) => console.error(error),
    ),
  );
  await connection.connect();
  await connection.join(OFFICE);
  const ask = (event: string, payload: Record<string, unknown>) =>
    connection.request(
      event,
      { agent: "wire", req_id: "1", computer: "pc", ...payload },
      { timeoutMs: 60_000 },
    );
  return {
    connection,
    ask,
    call: async (over) =>
      parseCallToolResult(
        await ask(TOOL_CALL_EVENT, { params: {}, timeout: 30, ...over }),
      ),
  };
}
