/** An agent of the AI SDK that uses the tools of an office. */
import { createMCPClient } from "@ai-sdk/mcp";
import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs } from "ai";
import process from "node:process";

const office = await createMCPClient({
  transport: {
    type: "http",
    url: process.env.OFFICE_URL ?? "http://127.0.0.1:8787/mcp/home",
    headers: { Authorization: `Bearer ${process.env.SMCP_API_KEY ?? ""}` },
  },
});
try {
  const { text } = await generateText({
    model: openai("gpt-5.5"),
    tools: await office.tools(),
    stopWhen: stepCountIs(20),
    prompt: process.argv.slice(2).join(" "),
  });
  console.log(text);
} finally {
  await office.close();
}
