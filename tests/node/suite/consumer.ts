// Compiled, never run: checks that TypeScript finds the types of every entry of the tarball.
import { SmcpAgent } from "@a2c-smcp/sdk/agent";
import { localDirResolver, SmcpComputer } from "@a2c-smcp/sdk/computer";
import { type CallToolResult, PROTOCOL_VERSION } from "@a2c-smcp/sdk/protocol";
import { createSmcpServer, type SmcpServerOptions } from "@a2c-smcp/sdk/server";
import { startOffice, type TestOffice } from "@a2c-smcp/sdk/testing";
import * as sdk from "@a2c-smcp/sdk";

const options: SmcpServerOptions = { origins: ["https://app.example"] };
const server = createSmcpServer(options);
const { url }: { url: string } = await server.listen();

const computer = new SmcpComputer({ url, name: "pc", servers: {} });
computer.registerDpeResolver(localDirResolver("documents"));

const agent: sdk.SmcpAgent = new SmcpAgent({ url, name: "ann" });
agent.on("tools", ({ computer, tools }) => {
  const names: string[] | undefined = tools?.map(({ name }) => name);
  console.log(computer.length, names);
});
const result: CallToolResult = await agent.callTool("pc", "add", { a: 1 });
console.log(result.isError, PROTOCOL_VERSION, sdk.ErrorCode.NOT_FOUND);

const office: TestOffice = await startOffice({
  computers: { pc: { servers: [] }, script: (event) => event.length },
});
console.log(office.agent.name, office.computer("pc").name);

/** Without types, everything would be allowed. */
type IsAny<T> = 0 extends 1 & T ? true : false;
const missing: IsAny<typeof agent | typeof result> = false;
console.log(missing);
