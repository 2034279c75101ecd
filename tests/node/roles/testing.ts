// With @a2c-smcp/testing alone: an office of all three roles.
import { startOffice, type TestOffice } from "@a2c-smcp/testing";

const office: TestOffice = await startOffice({
  computers: { pc: () => ({ content: [{ type: "text", text: "hello" }] }) },
});
const { content } = await office.agent.callTool("pc", "echo", {});
await office[Symbol.asyncDispose]();
console.log(content[0]?.text === "hello" ? "works" : content);
