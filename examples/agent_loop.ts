/**
 * The loop of an agent: a language model gets the tools of an office, chooses calls, and gets their
 * results, until it has an answer. The model here is a stub; replace it by yours.
 *
 * ```sh
 * deno run -A examples/agent_loop.ts
 * ```
 *
 * @module
 */
import { createSmcpServer, SmcpAgent, SmcpComputer } from "@a2c-smcp/sdk";
import type { CallToolResult } from "@a2c-smcp/sdk/agent";
import { notes } from "./notes.ts";

/** A tool in the form that models expect: a globally unique name, and a JSON Schema. */
interface Tool {
  name: string;
  description: string;
  parameters: unknown;
}

/** A message of the conversation. */
type Message =
  | { role: "user" | "assistant"; text: string }
  | { role: "call"; tool: string; params: Record<string, unknown> }
  | { role: "result"; text: string };

await using server = createSmcpServer();
const { url } = await server.listen();
await using computer = new SmcpComputer({
  url,
  name: "laptop",
  servers: { notes: { ...notes, default_tool_meta: { auto_apply: true } } },
});
await computer.connect();
await computer.serversSettled();
await computer.join("demo");

await using agent = new SmcpAgent({ url, name: "planner" });
await agent.connect();
await agent.join("demo");
await agent.toolsSettled();

const messages: Message[] = [{ role: "user", text: "Remember: milk, eggs" }];
while (messages.at(-1)?.role !== "assistant") {
  const next = model(messages, officeTools());
  messages.push(next);
  if (next.role === "call") messages.push(await carryOut(next));
}
for (const message of messages) console.log(JSON.stringify(message));

/** Returns the tools of all Computers; called each turn, since Computers come and go. */
function officeTools(): Tool[] {
  return [...agent.tools].flatMap(([computer, tools]) =>
    tools.map(({ name, description, params_schema }) => ({
      name: `${computer}.${name}`,
      description,
      parameters: params_schema,
    }))
  );
}

/** Calls a tool; errors become text for the model. */
async function carryOut(
  { tool, params }: Message & { role: "call" },
): Promise<Message> {
  const dot = tool.indexOf(".");
  const computer = tool.slice(0, dot);
  const name = tool.slice(dot + 1);
  const result = await agent.callTool(computer, name, params, {
    timeoutMs: 30_000,
  });
  return { role: "result", text: textOf(result) };
}

function textOf({ content, isError }: CallToolResult): string {
  const text = content.map((part) => "text" in part ? part.text : part.type)
    .join("\n");
  return isError ? `The tool failed: ${text}` : text;
}

/** A stub of a language model: it calls the first tool for each item, one per turn. */
function model(messages: Message[], tools: Tool[]): Message {
  const [question] = messages;
  const things = question?.role === "user"
    ? question.text.replace(/^.*:/, "").split(",")
    : [];
  const done = messages.filter(({ role }) => role === "result").length;
  const thing = things[done];
  const tool = tools[0];
  return thing !== undefined && tool
    ? { role: "call", tool: tool.name, params: { text: thing.trim() } }
    : { role: "assistant", text: `I noted ${done} things` };
}
