import type {
  SmcpComputer,
  SmcpComputerOptions,
} from "../../../computer/mod.ts";
import { Connection } from "../../../client/connection.ts";
import {
  type CallToolResult,
  parseCallToolResult,
  TOOL_CALL_EVENT,
  type ToolCallReq,
} from "../../../protocol/mod.ts";
import { OFFICE, type Office, startOffice } from "../office.ts";

/** An office with one real Computer, whose MCP servers have all settled. */
export interface ComputerOffice extends AsyncDisposable {
  readonly office: Office;
  readonly computer: SmcpComputer;
}

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
      [Symbol.asyncDispose]: () => office[Symbol.asyncDispose](),
    };
  } catch (error) {
    await office[Symbol.asyncDispose]();
    throw error;
  }
}

/** An Agent that sends exactly what it is told, and waits for the Computer's own answer. */
export interface WireAgent {
  /** Its end of the wire. */
  readonly connection: Connection;
  /** Sends a request; the ack as it came, errors of the protocol thrown. */
  ask(event: string, payload: Record<string, unknown>): Promise<unknown>;
  /** Calls a tool, `req_id` "1" unless told otherwise. */
  call(over: Partial<ToolCallReq>): Promise<CallToolResult>;
}

/** Takes the Agent's seat of an office. */
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
