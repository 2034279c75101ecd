/** An agent of LangChain that uses the tools of an office. */
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import process from "node:process";

const client = new MultiServerMCPClient({
  office: {
    transport: "http",
    url: process.env.OFFICE_URL ?? "http://127.0.0.1:8787/mcp/home",
    headers: { Authorization: `Bearer ${process.env.SMCP_API_KEY ?? ""}` },
  },
});
try {
  const agent = createAgent({
    model: new ChatOpenAI({ model: "gpt-5.5" }),
    tools: await client.getTools(),
  });
  const { messages } = await agent.invoke({
    messages: [{ role: "user", content: process.argv.slice(2).join(" ") }],
  });
  console.log(messages.at(-1)?.text);
} finally {
  await client.close();
}
