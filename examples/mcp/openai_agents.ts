/** An agent of OpenAI's Agents SDK that uses the tools of an office. */
import { Agent, MCPServerStreamableHttp, run } from "@openai/agents";
import process from "node:process";

const office = new MCPServerStreamableHttp({
  name: "office",
  url: process.env.OFFICE_URL ?? "http://127.0.0.1:8787/mcp/home",
  requestInit: {
    headers: { Authorization: `Bearer ${process.env.SMCP_API_KEY ?? ""}` },
  },
});
await office.connect();
try {
  const agent = new Agent({
    name: "helper",
    model: "gpt-5.5",
    mcpServers: [office],
  });
  const { finalOutput } = await run(agent, process.argv.slice(2).join(" "));
  console.log(finalOutput);
} finally {
  await office.close();
}
