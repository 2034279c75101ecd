import { assertEquals } from "@std/assert";
import { once } from "node:events";
import { connect } from "node:net";
import { mcpGateway } from "../../../../mcp/mod.ts";
import { createSmcpServer } from "../../../../server/mod.ts";
import { captureLog } from "../../../support/log_capture.ts";

const token = "0123456789abcdef0123456789abcdef";

Deno.test("a client that goes in the middle of its request is no failure of the Server", async () => {
  using log = captureLog();
  const gateway = mcpGateway();
  const server = createSmcpServer({ gateway, operator: { token } });
  const { port, url } = await server.listen({ port: 0 });
  const answered = async () => await (await fetch(`${url}/health`)).text();
  for (
    const path of ["/mcp/home", "/operator/v1/offices/home/computers/pc/call"]
  ) {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    socket.write([
      `POST ${path} HTTP/1.1`,
      `Host: 127.0.0.1:${port}`,
      `Authorization: Bearer ${token}`,
      "Content-Type: application/json",
      "Accept: application/json, text/event-stream",
      "Content-Length: 100",
      "",
      '{"tool_name":',
    ].join("\r\n"));
    await answered(); // so the Server has read the beginning of the request
    socket.destroy();
    await answered();
  }
  await server.close();
  const errors = log.records.filter(({ level }) => level === "error");
  assertEquals(errors, []);
});
