/** A loop of Anthropic's SDK that uses the tools of an office. */
import Anthropic from "@anthropic-ai/sdk";
import {
  type MCPCallToolResultLike,
  mcpTools,
} from "@anthropic-ai/sdk/helpers/beta/mcp";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import process from "node:process";

const office = new Client({ name: "helper", version: "1.0.0" });
await office.connect(
  new StreamableHTTPClientTransport(
    new URL(process.env.OFFICE_URL ?? "http://127.0.0.1:8787/mcp/home"),
    {
      requestInit: {
        headers: { Authorization: `Bearer ${process.env.SMCP_API_KEY ?? ""}` },
      },
    },
  ),
);
try {
  const { tools } = await office.listTools();
  const { content } = await new Anthropic().beta.messages.toolRunner({
    model: "claude-sonnet-5-5",
    max_tokens: 4096,
    tools: mcpTools(tools, {
      // As structured content MCP has any JSON value, these types an object.
      callTool: (call) =>
        office.callTool(call) as Promise<MCPCallToolResultLike>,
    }),
    messages: [{ role: "user", content: process.argv.slice(2).join(" ") }],
  });
  for (const block of content) {
    if (block.type === "text") console.log(block.text);
  }
} finally {
  await office.close();
}
