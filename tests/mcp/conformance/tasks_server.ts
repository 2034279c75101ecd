/**
 * The MCP server whose tools the conformance suite of MCP asks for where it tests tasks.
 *
 * It knows nothing of tasks: the office makes them of calls that take their time.
 *
 * @module
 */
import { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";

/** How a tool is called. */
interface Call {
  readonly args: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  /** Asks the person of the client for a text. */
  readonly ask: (message: string) => Promise<unknown>;
}

const text = (text: string): CallToolResult => ({
  content: [{ type: "text", text }],
});

/** Resolves after a time, or when the call is cancelled. */
const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });

/** Long enough for a call to become a task. */
const LONG_MS = 700;

const TOOLS: Record<string, (call: Call) => Promise<CallToolResult>> = {
  greet: ({ args }) => Promise.resolve(text(`Hello, ${args.name}!`)),
  slow_compute: async ({ args, signal }) => {
    await pause(Number(args.seconds) * 1000, signal);
    return text(`computed ${args.label}`);
  },
  failing_job: async ({ signal }) => {
    await pause(LONG_MS, signal);
    return { ...text("the job has failed"), isError: true };
  },
  protocol_error_job: async ({ signal }) => {
    await pause(LONG_MS, signal);
    throw new McpError(ErrorCode.InternalError, "the server has failed");
  },
  confirm_delete: async ({ args, signal, ask }) => {
    await pause(LONG_MS, signal);
    const answer = await ask(`Delete ${args.filename}?`);
    return text(JSON.stringify(answer));
  },
  test_tool_with_task: async ({ signal, ask }) => {
    const answer = await ask("Who are you?");
    await pause(LONG_MS, signal);
    return text(JSON.stringify(answer));
  },
  multi_input: async ({ signal, ask }) => {
    await pause(LONG_MS, signal);
    const answers = await Promise.all(["First?", "Second?"].map(ask));
    return text(JSON.stringify(answers));
  },
};

/** Makes the server of one Computer. */
export function createTasksServer(): Server {
  const server = new Server(
    { name: "conformance-tasks", version: "1.0.0" },
    { capabilities: { tools: {} } },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.keys(TOOLS).map((name) => ({
      name,
      description: name,
      inputSchema: { type: "object" as const },
    })),
  }));
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params: { name, arguments: args = {} } }, { signal }) => {
      const ask = (message: string) =>
        server.elicitInput({
          message,
          requestedSchema: {
            type: "object",
            properties: { name: { type: "string" } },
          },
        }, { timeout: 60_000 });
      return await TOOLS[name]?.({ args, signal, ask }) ?? text("unknown");
    },
  );
  return server;
}
