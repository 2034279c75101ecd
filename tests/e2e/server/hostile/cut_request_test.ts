import { assertEquals } from "@std/assert";
import { once } from "node:events";
import { connect } from "node:net";
import { startServerCommand } from "../../../support/server/server_command.ts";

Deno.test("a client that goes in the middle of its request is no failure of the Server", async () => {
  const server = await startServerCommand(["--port=0", "--mcp"]);
  try {
    const token = await server.printed("with the token ");
    const { hostname, port } = new URL(server.url);
    for (
      const path of ["/mcp/home", "/operator/v1/offices/home/computers/pc/call"]
    ) {
      const socket = connect(Number(port), hostname);
      await once(socket, "connect");
      socket.write([
        `POST ${path} HTTP/1.1`,
        `Host: ${hostname}:${port}`,
        `Authorization: Bearer ${token}`,
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "Content-Length: 100",
        "",
        '{"tool_name":',
      ].join("\r\n"));
      // The Server answers another request meanwhile: it has read the beginning of this one.
      await (await fetch(`${server.url}/health`)).body?.cancel();
      socket.destroy();
      await (await fetch(`${server.url}/health`)).body?.cancel();
    }
  } finally {
    server.kill("SIGTERM");
    await server.exited;
  }
  const errors = server.log.split("\n").filter((line) =>
    line.includes('"level":"error"')
  );
  assertEquals(errors, []);
});
