// With @a2c-smcp/agent alone: calls a tool at the Server whose URL and office are given.
import { ProtocolError, SmcpAgent } from "@a2c-smcp/agent";

declare const process: { readonly argv: readonly string[] };

const [, , url = "", office = ""] = process.argv;
const agent = new SmcpAgent({ url, name: "ann" });
await agent.connect();
await agent.join(office);
const { content } = await agent.callTool("pc", "echo", {});
const failed = await agent.callTool("nobody", "echo", {}).catch((error) =>
  error instanceof ProtocolError
);
await agent.close();
console.log(
  content[0]?.text === "hello" && failed === true ? "works" : content,
);
